/* schema/pattern_property: the Unicode properties that ECMA-262 names in \\p{…}, for us and for PCRE2. */
#include <stdio.h>
#include <stdlib.h>

#include "schema/pattern_internal.h"
#include "utf8proc.h"

#define BIT(category) (UINT32_C(1) << UTF8PROC_CATEGORY_##category)

/* ECMA-262, table "Value aliases and canonical values for General_Category"; the names are case-sensitive. */
static const struct {
  const char *brief, *name;
  uint32_t categories;
} general_categories[] = {{"L", "Letter", BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO)},
                          {"LC", "Cased_Letter", BIT(LU) | BIT(LL) | BIT(LT)},
                          {"M", "Mark", BIT(MN) | BIT(MC) | BIT(ME)},
                          {"N", "Number", BIT(ND) | BIT(NL) | BIT(NO)},
                          {"P", "Punctuation", BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO)},
                          {"S", "Symbol", BIT(SM) | BIT(SC) | BIT(SK) | BIT(SO)},
                          {"Z", "Separator", BIT(ZS) | BIT(ZL) | BIT(ZP)},
                          {"C", "Other", BIT(CN) | BIT(CC) | BIT(CF) | BIT(CS) | BIT(CO)},
                          {"Cn", "Unassigned", BIT(CN)},
                          {"Lu", "Uppercase_Letter", BIT(LU)},
                          {"Ll", "Lowercase_Letter", BIT(LL)},
                          {"Lt", "Titlecase_Letter", BIT(LT)},
                          {"Lm", "Modifier_Letter", BIT(LM)},
                          {"Lo", "Other_Letter", BIT(LO)},
                          {"Mn", "Nonspacing_Mark", BIT(MN)},
                          {"Mc", "Spacing_Mark", BIT(MC)},
                          {"Me", "Enclosing_Mark", BIT(ME)},
                          {"Nd", "Decimal_Number", BIT(ND)},
                          {"Nl", "Letter_Number", BIT(NL)},
                          {"No", "Other_Number", BIT(NO)},
                          {"Pc", "Connector_Punctuation", BIT(PC)},
                          {"Pd", "Dash_Punctuation", BIT(PD)},
                          {"Ps", "Open_Punctuation", BIT(PS)},
                          {"Pe", "Close_Punctuation", BIT(PE)},
                          {"Pi", "Initial_Punctuation", BIT(PI)},
                          {"Pf", "Final_Punctuation", BIT(PF)},
                          {"Po", "Other_Punctuation", BIT(PO)},
                          {"Sm", "Math_Symbol", BIT(SM)},
                          {"Sc", "Currency_Symbol", BIT(SC)},
                          {"Sk", "Modifier_Symbol", BIT(SK)},
                          {"So", "Other_Symbol", BIT(SO)},
                          {"Zs", "Space_Separator", BIT(ZS)},
                          {"Zl", "Line_Separator", BIT(ZL)},
                          {"Zp", "Paragraph_Separator", BIT(ZP)},
                          {"Cc", "Control", BIT(CC)},
                          {"Cf", "Format", BIT(CF)},
                          {"Cs", "Surrogate", BIT(CS)},
                          {"Co", "Private_Use", BIT(CO)},
                          {"M", "Combining_Mark", BIT(MN) | BIT(MC) | BIT(ME)},
                          {"Nd", "digit", BIT(ND)},
                          {"P", "punct", BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO)},
                          {"Cc", "cntrl", BIT(CC)}};

/* ECMA-262, table "Binary Unicode property aliases"; PCRE2 takes the short one. */
static const struct {
  const char *name, *brief;
} binary_properties[] = {{"ASCII_Hex_Digit", "AHex"},
                         {"Alphabetic", "Alpha"},
                         {"Bidi_Control", "Bidi_C"},
                         {"Bidi_Mirrored", "Bidi_M"},
                         {"Case_Ignorable", "CI"},
                         {"Cased", "Cased"},
                         {"Changes_When_Casefolded", "CWCF"},
                         {"Changes_When_Casemapped", "CWCM"},
                         {"Changes_When_Lowercased", "CWL"},
                         {"Changes_When_NFKC_Casefolded", "CWKCF"},
                         {"Changes_When_Titlecased", "CWT"},
                         {"Changes_When_Uppercased", "CWU"},
                         {"Dash", "Dash"},
                         {"Default_Ignorable_Code_Point", "DI"},
                         {"Deprecated", "Dep"},
                         {"Diacritic", "Dia"},
                         {"Emoji", "Emoji"},
                         {"Emoji_Component", "EComp"},
                         {"Emoji_Modifier", "EMod"},
                         {"Emoji_Modifier_Base", "EBase"},
                         {"Emoji_Presentation", "EPres"},
                         {"Extended_Pictographic", "ExtPict"},
                         {"Extender", "Ext"},
                         {"Grapheme_Base", "Gr_Base"},
                         {"Grapheme_Extend", "Gr_Ext"},
                         {"Hex_Digit", "Hex"},
                         {"IDS_Binary_Operator", "IDSB"},
                         {"IDS_Trinary_Operator", "IDST"},
                         {"ID_Continue", "IDC"},
                         {"ID_Start", "IDS"},
                         {"Ideographic", "Ideo"},
                         {"Join_Control", "Join_C"},
                         {"Logical_Order_Exception", "LOE"},
                         {"Lowercase", "Lower"},
                         {"Math", "Math"},
                         {"Noncharacter_Code_Point", "NChar"},
                         {"Pattern_Syntax", "Pat_Syn"},
                         {"Pattern_White_Space", "Pat_WS"},
                         {"Quotation_Mark", "QMark"},
                         {"Radical", "Radical"},
                         {"Regional_Indicator", "RI"},
                         {"Sentence_Terminal", "STerm"},
                         {"Soft_Dotted", "SD"},
                         {"Terminal_Punctuation", "Term"},
                         {"Unified_Ideograph", "UIdeo"},
                         {"Uppercase", "Upper"},
                         {"Variation_Selector", "VS"},
                         {"White_Space", "space"},
                         {"XID_Continue", "XIDC"},
                         {"XID_Start", "XIDS"}};

/* Values and aliases of Script (Unicode 14), sorted by bytes. */
static const char *const scripts[] = {"Adlam",
                                      "Adlm",
                                      "Aghb",
                                      "Ahom",
                                      "Anatolian_Hieroglyphs",
                                      "Arab",
                                      "Arabic",
                                      "Armenian",
                                      "Armi",
                                      "Armn",
                                      "Avestan",
                                      "Avst",
                                      "Bali",
                                      "Balinese",
                                      "Bamu",
                                      "Bamum",
                                      "Bass",
                                      "Bassa_Vah",
                                      "Batak",
                                      "Batk",
                                      "Beng",
                                      "Bengali",
                                      "Bhaiksuki",
                                      "Bhks",
                                      "Bopo",
                                      "Bopomofo",
                                      "Brah",
                                      "Brahmi",
                                      "Brai",
                                      "Braille",
                                      "Bugi",
                                      "Buginese",
                                      "Buhd",
                                      "Buhid",
                                      "Cakm",
                                      "Canadian_Aboriginal",
                                      "Cans",
                                      "Cari",
                                      "Carian",
                                      "Caucasian_Albanian",
                                      "Chakma",
                                      "Cham",
                                      "Cher",
                                      "Cherokee",
                                      "Chorasmian",
                                      "Chrs",
                                      "Common",
                                      "Copt",
                                      "Coptic",
                                      "Cpmn",
                                      "Cprt",
                                      "Cuneiform",
                                      "Cypriot",
                                      "Cypro_Minoan",
                                      "Cyrillic",
                                      "Cyrl",
                                      "Deseret",
                                      "Deva",
                                      "Devanagari",
                                      "Diak",
                                      "Dives_Akuru",
                                      "Dogr",
                                      "Dogra",
                                      "Dsrt",
                                      "Dupl",
                                      "Duployan",
                                      "Egyp",
                                      "Egyptian_Hieroglyphs",
                                      "Elba",
                                      "Elbasan",
                                      "Elym",
                                      "Elymaic",
                                      "Ethi",
                                      "Ethiopic",
                                      "Geor",
                                      "Georgian",
                                      "Glag",
                                      "Glagolitic",
                                      "Gong",
                                      "Gonm",
                                      "Goth",
                                      "Gothic",
                                      "Gran",
                                      "Grantha",
                                      "Greek",
                                      "Grek",
                                      "Gujarati",
                                      "Gujr",
                                      "Gunjala_Gondi",
                                      "Gurmukhi",
                                      "Guru",
                                      "Han",
                                      "Hang",
                                      "Hangul",
                                      "Hani",
                                      "Hanifi_Rohingya",
                                      "Hano",
                                      "Hanunoo",
                                      "Hatr",
                                      "Hatran",
                                      "Hebr",
                                      "Hebrew",
                                      "Hira",
                                      "Hiragana",
                                      "Hluw",
                                      "Hmng",
                                      "Hmnp",
                                      "Hung",
                                      "Imperial_Aramaic",
                                      "Inherited",
                                      "Inscriptional_Pahlavi",
                                      "Inscriptional_Parthian",
                                      "Ital",
                                      "Java",
                                      "Javanese",
                                      "Kaithi",
                                      "Kali",
                                      "Kana",
                                      "Kannada",
                                      "Katakana",
                                      "Kayah_Li",
                                      "Khar",
                                      "Kharoshthi",
                                      "Khitan_Small_Script",
                                      "Khmer",
                                      "Khmr",
                                      "Khoj",
                                      "Khojki",
                                      "Khudawadi",
                                      "Kits",
                                      "Knda",
                                      "Kthi",
                                      "Lana",
                                      "Lao",
                                      "Laoo",
                                      "Latin",
                                      "Latn",
                                      "Lepc",
                                      "Lepcha",
                                      "Limb",
                                      "Limbu",
                                      "Lina",
                                      "Linb",
                                      "Linear_A",
                                      "Linear_B",
                                      "Lisu",
                                      "Lyci",
                                      "Lycian",
                                      "Lydi",
                                      "Lydian",
                                      "Mahajani",
                                      "Mahj",
                                      "Maka",
                                      "Makasar",
                                      "Malayalam",
                                      "Mand",
                                      "Mandaic",
                                      "Mani",
                                      "Manichaean",
                                      "Marc",
                                      "Marchen",
                                      "Masaram_Gondi",
                                      "Medefaidrin",
                                      "Medf",
                                      "Meetei_Mayek",
                                      "Mend",
                                      "Mende_Kikakui",
                                      "Merc",
                                      "Mero",
                                      "Meroitic_Cursive",
                                      "Meroitic_Hieroglyphs",
                                      "Miao",
                                      "Mlym",
                                      "Modi",
                                      "Mong",
                                      "Mongolian",
                                      "Mro",
                                      "Mroo",
                                      "Mtei",
                                      "Mult",
                                      "Multani",
                                      "Myanmar",
                                      "Mymr",
                                      "Nabataean",
                                      "Nand",
                                      "Nandinagari",
                                      "Narb",
                                      "Nbat",
                                      "New_Tai_Lue",
                                      "Newa",
                                      "Nko",
                                      "Nkoo",
                                      "Nshu",
                                      "Nushu",
                                      "Nyiakeng_Puachue_Hmong",
                                      "Ogam",
                                      "Ogham",
                                      "Ol_Chiki",
                                      "Olck",
                                      "Old_Hungarian",
                                      "Old_Italic",
                                      "Old_North_Arabian",
                                      "Old_Permic",
                                      "Old_Persian",
                                      "Old_Sogdian",
                                      "Old_South_Arabian",
                                      "Old_Turkic",
                                      "Old_Uyghur",
                                      "Oriya",
                                      "Orkh",
                                      "Orya",
                                      "Osage",
                                      "Osge",
                                      "Osma",
                                      "Osmanya",
                                      "Ougr",
                                      "Pahawh_Hmong",
                                      "Palm",
                                      "Palmyrene",
                                      "Pau_Cin_Hau",
                                      "Pauc",
                                      "Perm",
                                      "Phag",
                                      "Phags_Pa",
                                      "Phli",
                                      "Phlp",
                                      "Phnx",
                                      "Phoenician",
                                      "Plrd",
                                      "Prti",
                                      "Psalter_Pahlavi",
                                      "Qaac",
                                      "Qaai",
                                      "Rejang",
                                      "Rjng",
                                      "Rohg",
                                      "Runic",
                                      "Runr",
                                      "Samaritan",
                                      "Samr",
                                      "Sarb",
                                      "Saur",
                                      "Saurashtra",
                                      "Sgnw",
                                      "Sharada",
                                      "Shavian",
                                      "Shaw",
                                      "Shrd",
                                      "Sidd",
                                      "Siddham",
                                      "SignWriting",
                                      "Sind",
                                      "Sinh",
                                      "Sinhala",
                                      "Sogd",
                                      "Sogdian",
                                      "Sogo",
                                      "Sora",
                                      "Sora_Sompeng",
                                      "Soyo",
                                      "Soyombo",
                                      "Sund",
                                      "Sundanese",
                                      "Sylo",
                                      "Syloti_Nagri",
                                      "Syrc",
                                      "Syriac",
                                      "Tagalog",
                                      "Tagb",
                                      "Tagbanwa",
                                      "Tai_Le",
                                      "Tai_Tham",
                                      "Tai_Viet",
                                      "Takr",
                                      "Takri",
                                      "Tale",
                                      "Talu",
                                      "Tamil",
                                      "Taml",
                                      "Tang",
                                      "Tangsa",
                                      "Tangut",
                                      "Tavt",
                                      "Telu",
                                      "Telugu",
                                      "Tfng",
                                      "Tglg",
                                      "Thaa",
                                      "Thaana",
                                      "Thai",
                                      "Tibetan",
                                      "Tibt",
                                      "Tifinagh",
                                      "Tirh",
                                      "Tirhuta",
                                      "Tnsa",
                                      "Toto",
                                      "Ugar",
                                      "Ugaritic",
                                      "Vai",
                                      "Vaii",
                                      "Vith",
                                      "Vithkuqi",
                                      "Wancho",
                                      "Wara",
                                      "Warang_Citi",
                                      "Wcho",
                                      "Xpeo",
                                      "Xsux",
                                      "Yezi",
                                      "Yezidi",
                                      "Yi",
                                      "Yiii",
                                      "Zanabazar_Square",
                                      "Zanb",
                                      "Zinh",
                                      "Zyyy"};

/* Runs of one category, made from libutf8proc at build time (pattern_category_table.c). */
static const struct {
  uint32_t low : 24, category : 8;
} category_runs[] = {
#include "pattern_category_table.inc"
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static int compare_script(const void *key, const void *element) {
  const trilha_text *text = key;
  return trilha_text_compare(*text, trilha_text_of(*(const char *const *)element));
}

static bool find_category(trilha_text name, trilha_property *ret_property) {
  for (size_t i = 0; i < COUNT_OF(general_categories); i++) {
    if (!trilha_text_is(name, general_categories[i].brief) && !trilha_text_is(name, general_categories[i].name))
      continue;
    const char *brief = general_categories[i].brief;
    snprintf(ret_property->engine, sizeof ret_property->engine, "%s", strcmp(brief, "LC") == 0 ? "L&" : brief);
    ret_property->categories = general_categories[i].categories;
    return true;
  }
  return false;
}

static bool find_binary(trilha_text name, trilha_property *ret_property) {
  if (trilha_text_is(name, "Any")) return ret_property->everything = true;
  if (trilha_text_is(name, "ASCII")) return ret_property->ascii = true;
  if (trilha_text_is(name, "Assigned")) {
    ret_property->categories = ~BIT(CN);
    return ret_property->assigned = true;
  }
  for (size_t i = 0; i < COUNT_OF(binary_properties); i++) {
    if (!trilha_text_is(name, binary_properties[i].name) && !trilha_text_is(name, binary_properties[i].brief)) continue;
    snprintf(ret_property->engine, sizeof ret_property->engine, "%s", binary_properties[i].brief);
    return true;
  }
  return false;
}

static bool find_script(trilha_text name, const char *kind, trilha_property *ret_property) {
  if (bsearch(&name, scripts, COUNT_OF(scripts), sizeof scripts[0], compare_script) == NULL) return false;
  snprintf(ret_property->engine, sizeof ret_property->engine, "%s:%.*s", kind, (int)name.size, name.data);
  return true;
}

bool trilha_property_find(trilha_text text, trilha_property *ret_property) {
  *ret_property = (trilha_property){0};
  const char *equals = trilha_text_find(text, '=');
  if (equals == NULL) return find_category(text, ret_property) || find_binary(text, ret_property);
  trilha_text name = {text.data, (size_t)(equals - text.data)};
  trilha_text value = {equals + 1, text.size - name.size - 1};
  if (trilha_text_is(name, "General_Category") || trilha_text_is(name, "gc")) return find_category(value, ret_property);
  if (trilha_text_is(name, "Script") || trilha_text_is(name, "sc")) return find_script(value, "sc", ret_property);
  if (trilha_text_is(name, "Script_Extensions") || trilha_text_is(name, "scx"))
    return find_script(value, "scx", ret_property);
  return false;
}

static void add_categories(uint32_t categories, trilha_set *set, trilha_arena *arena) {
  for (size_t i = 0; i < COUNT_OF(category_runs); i++) {
    if ((categories >> category_runs[i].category & 1) == 0) continue;
    uint32_t next = i + 1 < COUNT_OF(category_runs) ? category_runs[i + 1].low : TRILHA_CODE_POINT_MAX + 1;
    trilha_set_add(set, category_runs[i].low, next - 1, arena);
  }
}

bool trilha_property_add(const trilha_property *property, bool negated, trilha_set *set, trilha_arena *arena) {
  if (property->everything) {
    if (!negated) trilha_set_add(set, 0, TRILHA_CODE_POINT_MAX, arena);
  } else if (property->ascii) {
    if (negated)
      trilha_set_add(set, 0x80, TRILHA_CODE_POINT_MAX, arena);
    else
      trilha_set_add(set, 0, 0x7F, arena);
  } else if (property->categories != 0) {
    add_categories(negated ? ~property->categories : property->categories, set, arena);
  } else {
    return false;
  }
  return true;
}

bool trilha_property_is_identifier(uint32_t code_point, bool first) {
  if (code_point == '$' || code_point == '_') return true;
  if (code_point > TRILHA_CODE_POINT_MAX) return false;
  if (!first && (code_point == 0x200C || code_point == 0x200D)) return true;
  uint32_t allowed = BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO) | BIT(NL);
  if (!first) allowed |= BIT(MN) | BIT(MC) | BIT(ND) | BIT(PC);
  return (allowed >> utf8proc_category((utf8proc_int32_t)code_point) & 1) != 0;
}
