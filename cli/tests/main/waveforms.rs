//! Waveforms and the GTKWave save files beside them.

use std::collections::BTreeSet;

use crate::command::Place;

/// Lines of a save file that are signals or titles of groups.
fn shown(save: &str) -> Vec<&str> {
    save.lines().filter(|line| !line.starts_with(['[', '*', '@', '^'])).collect()
}

#[test]
fn a_save_file_shows_what_matters_of_each_design() {
    let mut all = String::new();
    for (design, preset) in [
        ("baseline", "gebhart2011"),
        ("two-level", "gebhart2011"),
        ("rfc", "gebhart2011"),
        ("regless", "gtx980-regless"),
        ("rfv", "gtx980-regless"),
        ("rfh", "gtx980-regless"),
    ] {
        let place = Place::new();
        let run = format!("run vectoradd --size tiny --preset {preset} --design {design} --vcd-cycles 5..8");
        place.succeeds(&format!("{run} --vcd w.vcd --gtkw w.gtkw"));
        let save = place.read("w.gtkw");
        assert!(save.contains("/w.vcd\"\n[timestart] 50\n"), "{save}");
        all += &format!("{design}\n{}\n\n", shown(&save).join("\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn enumerations_are_words_in_translation_files_beside_the_save_file() {
    let place = Place::new();
    place.succeeds(
        "run vectoradd --size tiny --preset gtx980-regless --design regless --vcd-cycles 0..2 --vcd w.vcd --gtkw s.gtkw",
    );
    assert_eq!(place.files(), ["s.fate.txt", "s.gtkw", "s.note.txt", "s.request_kind.txt", "w.vcd"]);
    assert_eq!(place.read("s.request_kind.txt"), "0 Fetch\n1 Write\n2 Invalidate\n3 Drop\n");
    let save = place.read("s.gtkw");
    let translated: BTreeSet<&str> = save.lines().filter_map(|line| line.strip_prefix("^1 ")).collect();
    assert!(translated.iter().all(|file| std::path::Path::new(file).is_file()), "{translated:?}");
    assert!(
        save.contains("s.request_kind.txt\nregless.partition0_register_file.memory_request_kind_o[1:0]\n")
    );
}

#[test]
fn a_save_file_without_a_waveform_or_with_nothing_to_show_is_an_error() {
    let error = Place::new().refused("run vectoradd --size tiny --gtkw s.gtkw");
    assert!(error.contains("--vcd"), "{error}");
    let place = Place::new();
    let output =
        place.run("run vectoradd --size tiny --vcd w.vcd --vcd-scope register_file.mrf.bank0 --gtkw s.gtkw");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("accepted: a waveform with the scopes register_file or scheduler"), "{error}");
    assert_eq!(place.files(), ["w.vcd"]);
}
