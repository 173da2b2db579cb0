//! A configuration file, laid over a preset and by itself.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_sim::config::{Config, apply_file, preset};

static PRESET: LazyLock<Config> = LazyLock::new(|| preset("gebhart2011").expect("complete"));

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    let mut over = PRESET.clone();
    if apply_file(&mut over, "c.toml", text).is_ok() && over.validate().is_ok() {
        // What is accepted can be written and read back.
        let again =
            Config::from_toml(PRESET.registry(), "again.toml", &over.to_toml()).expect("what we wrote");
        assert_eq!(again.to_toml(), over.to_toml());
    }
    let _ = Config::from_toml(PRESET.registry(), "c.toml", text);
    Corpus::Keep
});
