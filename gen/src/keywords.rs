//! Words that cannot name anything in a generated file.

/// Whether `name` is a word of Verilog, of SystemVerilog or of C++ (Verilator warns about those).
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok()
}

/// Sorted.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "accept_on", "alias", "alignas", "alignof", "always", "always_comb", "always_ff", "always_latch", "and",
    "and_eq", "asm", "assert", "assign", "assume", "auto", "automatic", "before", "begin", "bind", "bins",
    "binsof", "bit", "bitand", "bitor", "bool", "break", "buf", "bufif0", "bufif1", "byte", "case", "casex",
    "casez", "catch", "cell", "chandle", "char", "char16_t", "char32_t", "checker", "class", "clocking",
    "cmos", "compl", "config", "const", "const_cast", "constexpr", "constraint", "context", "continue",
    "cover", "covergroup", "coverpoint", "cross", "deassign", "decltype", "default", "defparam", "delete",
    "design", "disable", "dist", "do", "double", "dynamic_cast", "edge", "else", "end", "endcase",
    "endchecker", "endclass", "endclocking", "endconfig", "endfunction", "endgenerate", "endgroup",
    "endinterface", "endmodule", "endpackage", "endprimitive", "endprogram", "endproperty", "endsequence",
    "endspecify", "endtable", "endtask", "enum", "event", "eventually", "expect", "explicit", "export",
    "extends", "extern", "false", "final", "first_match", "float", "for", "force", "foreach", "forever",
    "fork", "forkjoin", "friend", "function", "generate", "genvar", "global", "goto", "highz0", "highz1",
    "if", "iff", "ifnone", "ignore_bins", "illegal_bins", "implements", "implies", "import", "incdir",
    "include", "initial", "inline", "inout", "input", "inside", "instance", "int", "integer",
    "interconnect", "interface", "intersect", "join", "join_any", "join_none", "large", "let", "liblist",
    "library", "local", "localparam", "logic", "long", "longint", "macromodule", "matches", "medium",
    "modport", "module", "mutable", "namespace", "nand", "negedge", "nettype", "new", "nexttime", "nmos",
    "noexcept", "nor", "noshowcancelled", "not", "not_eq", "notif0", "notif1", "null", "nullptr",
    "operator", "or", "or_eq", "output", "override", "package", "packed", "parameter", "pmos", "posedge",
    "primitive", "priority", "private", "program", "property", "protected", "public", "pull0", "pull1",
    "pulldown", "pullup", "pulsestyle_ondetect", "pulsestyle_onevent", "pure", "rand", "randc", "randcase",
    "randsequence", "rcmos", "real", "realtime", "ref", "reg", "register", "reinterpret_cast", "reject_on",
    "release", "repeat", "restrict", "return", "rnmos", "rpmos", "rtran", "rtranif0", "rtranif1",
    "s_always", "s_eventually", "s_nexttime", "s_until", "s_until_with", "scalared", "sequence", "short",
    "shortint", "shortreal", "showcancelled", "signed", "sizeof", "small", "soft", "solve", "specify",
    "specparam", "static", "static_assert", "static_cast", "string", "strong", "strong0", "strong1",
    "struct", "super", "supply0", "supply1", "switch", "sync_accept_on", "sync_reject_on", "table",
    "tagged", "task", "template", "this", "thread_local", "throughout", "throw", "time", "timeprecision",
    "timeunit", "tran", "tranif0", "tranif1", "tri", "tri0", "tri1", "triand", "trior", "trireg", "true",
    "try", "type", "typedef", "typeid", "typename", "union", "unique", "unique0", "unsigned", "until",
    "until_with", "untyped", "use", "using", "uwire", "var", "vectored", "virtual", "void", "volatile",
    "wait", "wait_order", "wand", "wchar_t", "weak", "weak0", "weak1", "while", "wildcard", "wire", "with",
    "within", "wor", "xnor", "xor", "xor_eq",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_sorted_for_the_search() {
        assert!(RESERVED.is_sorted());
        assert!(is_reserved("always") && is_reserved("xor") && is_reserved("logic") && !is_reserved("lane"));
    }
}
