// Random patterns and subjects: our verdicts against RegExp with the flag "u". argv[2] is the probe. SEED draws others than those
// that every run draws; TIMES draws so many more after it.
import {spawnSync} from 'node:child_process';

const PATTERNS = 4000, SUBJECTS = 12, DEPTH = 2;
const FIRST = Number(process.env.SEED ?? 1), TIMES = Number(process.env.TIMES ?? 1);
let seed = FIRST;

function below(n) { // mulberry32
  seed = (seed + 0x6D2B79F5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
}
const pick = list => list[below(list.length)];

const atoms = ['a', 'b', 'c', '0', '_', '-', 'é', 'ß', '日', '😀', '.', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '[ab]', '[^a]', '[^\\n]',
               '[a-c_]', '[é-日]', '[^é😀]', '[\\d_]', '[\\W]', '[^\\s\\w]', '[]', '[^]', '\\x61', '\\u00e9', '\\u{1F600}', '\\ud83d\\ude00',
               '\\ud800', '\\n', '\\p{L}', '\\P{L}', '\\p{Lu}', '[\\p{Nd}a]', '[^\\p{L}]', '\\p{ASCII}', '\\.', '\\/', 'ab', 'bc',
               '\\p{Alphabetic}', '\\p{sc=Latin}'];
const quantifiers = ['', '', '', '', '*', '+', '?', '{2}', '{1,3}', '{0,2}', '{2,}', '*?', '+?', '??', '{0}'];
const characters = ['a', 'b', 'c', '0', '_', '-', 'é', 'ß', '日', '😀', '\n', '\r', '\u2028', 'A', '\u00a0', '\ufeff', ' ', '\t', 'z', '٣', '\u0000'];
let groups = 0, references = false;

function term(depth) {
  const kind = below(20);
  if (kind < 2) return pick(['^', '$', '\\b', '\\B']);
  if (kind < 8 && depth > 0) {
    const open = pick(['(?:', '(?:', '(', '(', '(?=', '(?!', '(?<=']);
    if (open === '(') groups++;
    if (open === '(?<=') return open + pick(atoms) + ')';
    return open + disjunction(depth - 1) + ')' + (open === '(' || open === '(?:' ? pick(quantifiers) : '');
  }
  if (kind < 10 && references && groups > 0) return '\\' + (1 + below(groups)) + '(?:)' + pick(['', '', '?']);
  return pick(atoms) + pick(quantifiers);
}
function disjunction(depth) {
  let text = '';
  do {
    for (let n = below(4); n > 0; n--) text += term(depth);
  } while (below(4) === 0 && (text += '|'));
  return text;
}
function subject() {
  let text = '';
  for (let n = below(8); n > 0; n--) text += pick(below(3) ? ['a', 'b', 'c', '0', 'é'] : characters);
  return text;
}
function regular(pattern) {
  try {
    return new RegExp(pattern, 'uy');
  } catch {
    return null;
  }
}

// Tried at the start of each character. Left to itself V8 also looks between the halves of a surrogate pair, where ECMA-262 (22.2.7.3) never
// does, and where no word boundary is.
function matches(theirs, subject) {
  for (let at = 0; at <= subject.length; at += subject.codePointAt(at) > 0xFFFF ? 2 : 1) {
    theirs.lastIndex = at;
    if (theirs.test(subject)) return true;
  }
  return false;
}
const hex = text => Buffer.from(text, 'utf8').toString('hex');
const wrong = [], ways = {};
let ended = true;

function compare(first) {
  seed = first;
  const cases = [];
  while (cases.length < PATTERNS) {
    groups = 0;
    references = below(3) === 0;
    const pattern = (below(2) ? '^' : '') + disjunction(DEPTH) + (below(2) ? '$' : '');
    if (pattern !== '') cases.push({pattern, theirs: regular(pattern), subjects: Array.from({length: SUBJECTS}, () => subject() + pick(['', 'a', 'b']) || 'a')});
  }
  const input = cases.map(c => [c.pattern, ...c.subjects].map(hex).join('\t')).join('\n') + '\n';
  const done = spawnSync(process.argv[2], {input, maxBuffer: 1 << 28});
  const answers = done.stdout.toString().split('\n');

  cases.forEach((c, i) => {
    const answer = answers[i] ?? '';
    ways[answer[0]] = (ways[answer[0]] ?? 0) + 1;
    if (answer[0] === '!') { // what PCRE2 would answer otherwise may be refused, but the grammar must say the same
      if ((answer[1] === 'V') !== (c.theirs !== null)) wrong.push(`SEED=${first}: ${c.pattern} is ${answer[1] === 'V' ? '' : 'not '}valid`);
    } else if (c.theirs === null) {
      wrong.push(`SEED=${first}: ${c.pattern} is not valid`);
    } else {
      c.subjects.forEach((s, n) => {
        if (answer[n + 1] !== 'U' && answer[n + 1] !== (matches(c.theirs, s) ? 'Y' : 'N'))
          wrong.push(`SEED=${first}: ${JSON.stringify(c.pattern)} on ${JSON.stringify(s)}: ${answer[n + 1]} by way ${answer[0]}`);
      });
    }
  });
  ended &&= done.status === 0;
}

for (let i = 0; i < TIMES; i++) compare(FIRST + i);
const refused = ways['!'] ?? 0;
console.log(`# ${JSON.stringify(ways)}`);
wrong.slice(0, 20).forEach(line => console.log(`# ${line}`));
console.log('1..3');
console.log(`${ended && wrong.length === 0 ? 'ok' : 'not ok'} 1 - patterns_answer_as_ECMAScript_does`);
console.log(`${refused < PATTERNS * TIMES / 20 ? 'ok' : 'not ok'} 2 - few_valid_patterns_are_refused`);
console.log(`${ways.S > 100 && ways.D > 1000 && ways.P > 100 ? 'ok' : 'not ok'} 3 - all_ways_were_compared`);
