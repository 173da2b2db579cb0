//! A circuit with a body of its own for each test.

/// Declares a circuit `$name` with the ports `valid_i`, `a_i` (8 bits), `b_i` (4 bits) and `out_o` (8 bits).
macro_rules! probe {
    ($name:ident, |$m:ident, $io:ident| $body:block) => {
        /// A circuit for tests.
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize, warpfile_hdl::rtl::Documented)]
        struct $name {}

        impl warpfile_hdl::rtl::Circuit for $name {
            type Io<'m> = crate::probe::ProbeIo<'m>;
            const NAME: &'static str = "probe";
            fn build<'m>(&self, $m: &warpfile_hdl::rtl::Module<'m>, $io: &Self::Io<'m>) {
                let _ = ($m, $io);
                $body
            }
        }
    };
}

/// The errors of a body for [`probe!`], lines left out.
macro_rules! errors_of {
    (|$m:ident, $io:ident| $body:block) => {{
        crate::probe::probe!(Probe, |$m, $io| $body);
        match warpfile_hdl::rtl::elaborate(&Probe {}) {
            Ok(_) => "no error".to_string(),
            Err(errors) => crate::probe::without_lines(&errors.to_string()),
        }
    }};
}

pub(crate) use {errors_of, probe};

use warpfile_hdl::rtl::{In, Out, Ports};

#[derive(Ports)]
pub struct ProbeIo<'m> {
    pub valid_i: In<'m>,
    #[bits(8)]
    pub a_i: In<'m>,
    #[bits(4)]
    pub b_i: In<'m>,
    #[bits(8)]
    pub out_o: Out<'m>,
}

/// `text` with the numbers of lines of this crate's tests replaced.
pub fn without_lines(text: &str) -> String {
    text.split_inclusive([' ', '\n', ')'])
        .map(|word| match word.find(".rs:") {
            Some(at) => {
                let digits = word[at + 4..].chars().take_while(char::is_ascii_digit).count();
                let start = word.rfind(['/', '(']).map_or(0, |slash| slash + 1);
                let lead = if word.starts_with('(') { "(" } else { "" };
                format!("{lead}{}LINE{}", &word[start..at + 4], &word[at + 4 + digits..])
            }
            None => word.to_string(),
        })
        .collect()
}
