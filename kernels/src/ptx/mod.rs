//! PTX: lexer, parser, typed instructions.
