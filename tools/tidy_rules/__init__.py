# tidy: the rules of rooms and style, one function each; a function yields (path, line, what is wrong).
