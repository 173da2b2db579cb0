//! What can be a name: the words that Verilog-2005 and SystemVerilog keep for themselves cannot.

/// Of SystemVerilog's words, those that a circuit might want as a name.
const KEYWORDS: &str = "
    alias always and assert assign assume automatic before begin bind bins bit break buf bufif0 bufif1
    byte case casex casez cell chandle checker class clocking cmos config const constraint context
    continue cover covergroup cross deassign default defparam design disable dist do edge else end
    endcase endconfig endfunction endgenerate endmodule endprimitive endspecify endtable endtask enum
    event expect export extends extern final first_match for force foreach forever fork function
    generate genvar global highz0 highz1 if iff ifnone illegal_bins implements implies import incdir
    include initial inout input inside instance int integer interconnect interface intersect join large
    let liblist library local localparam logic longint macromodule matches medium modport module nand
    negedge nettype new nexttime nmos nor not null or output package packed parameter pmos posedge
    primitive priority program property protected pull0 pull1 pulldown pullup pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran
    scalared sequence shortint shortreal showcancelled signed small soft solve specify specparam static
    string strong strong0 strong1 struct super supply0 supply1 table tagged task this throughout time
    timeprecision timeunit tran tri tri0 tri1 triand trior trireg type typedef union unique unique0
    unsigned until untyped use uwire var vectored virtual void wait wand weak weak0 weak1 while wildcard
    wire with within wor xnor xor
";

/// Whether `name` can stand alone in Verilog: a [word](is_word) that is no keyword.
pub fn is_identifier(name: &str) -> bool {
    is_word(name) && !KEYWORDS.split_whitespace().any(|word| word == name)
}

/// Whether `name` can be part of a longer name: lower-case letters, digits and `_`, a letter first.
pub fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
