//! Pages for a browser, as far as they can be looked at without one; scripts/test-html opens them.

use serde_json::Value;

use crate::command::Place;
use crate::runs::{SOFT_DEFINITIONS, write_soft_definition};

/// What is between two texts, the first time.
fn between<'t>(text: &'t str, (begin, end): (&str, &str)) -> &'t str {
    let (_, rest) = text.split_once(begin).expect(begin);
    rest.split_once(end).expect(end).0
}

fn data(page: &str) -> Value {
    let data = between(page, ("<script type=\"application/json\" id=\"data\">", "</script>"));
    serde_json::from_str(data).expect("JSON")
}

fn sections<'d>(data: &'d Value, kind: &str) -> Vec<&'d Value> {
    let all = data["sections"].as_array().expect("sections");
    all.iter().filter(|section| section["kind"] == kind).collect()
}

#[test]
fn the_page_of_a_run_has_every_figure_of_the_report_and_needs_no_network() {
    let place = Place::new();
    let report = place.json("run vectoradd nn --size tiny --design rfc,regless --json --html page.html");
    let page = place.read("page.html");
    let data = data(&page);
    let runs = sections(&data, "runs")[0];
    let names: Vec<&str> =
        runs["figures"].as_array().expect("figures").iter().filter_map(Value::as_str).collect();
    let rows = runs["rows"].as_array().expect("rows");
    let axis = |row: &Value, number: usize| {
        let at = row["at"][number].as_u64().expect("a value") as usize;
        runs["axes"][number]["values"][at].as_str().expect("text").to_owned()
    };
    assert_eq!(
        (runs["axes"][0]["name"].as_str(), runs["axes"][1]["name"].as_str()),
        (Some("kernel"), Some("design"))
    );
    assert_eq!(rows.len(), 2 * 3, "two kernels, three designs");
    for kernel in report["kernels"].as_array().expect("kernels") {
        for design in kernel["designs"].as_array().expect("designs") {
            let is_it = |row: &&Value| {
                kernel["input"]["name"] == axis(row, 0).as_str() && design["name"] == axis(row, 1).as_str()
            };
            let row = rows.iter().find(is_it).expect("a row for each run");
            let value =
                |name: &str| &row["values"][names.iter().position(|known| *known == name).expect(name)];
            for figure in ["cycles", "ipc", "operands_checked", "energy_normalised_gpu"] {
                assert_eq!(value(figure), &design[figure], "{figure}");
            }
            assert_eq!(value("stalls.long_latency"), &design["stalls"]["long_latency"]);
            let arrays = design["energy"]["accesses"]["arrays"].as_array().expect("arrays");
            let registers = arrays.iter().filter(|array| array["name"] == "registers");
            let terms = ["access_pj", "wires_pj", "clock_pj", "leakage_pj"];
            let pj: f64 =
                registers.flat_map(|array| terms.map(|term| array[term].as_f64().unwrap_or(0.0))).sum();
            assert!((value("structures.registers").as_f64().expect("a number") - pj).abs() < 1e-6 * pj);
        }
    }
    // Everything that it draws with is in it, and it tells the browser to fetch nothing.
    assert!(page.contains("default-src 'none'"));
    let library = between(&page, ("Apache License 2.0 -->\n<script>", "</script>"));
    let own = page.replace(library, "");
    for outside in ["src=", "href=", "url(", "import(", "fetch(", "XMLHttpRequest"] {
        assert!(!own.contains(outside), "{outside}");
    }
    // A heat map of the warps for each run, and of what mechanisms name.
    let over_time = sections(&data, "timelines")[0]["runs"].as_array().expect("runs");
    let maps: Vec<usize> = over_time.iter().map(|run| run["maps"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!(maps, [1, 2, 3, 1, 2, 3], "baseline, rfc, regless");
}

#[test]
fn names_end_no_script_and_no_title() {
    let place = Place::new();
    write_soft_definition(&place, "<b>&", SOFT_DEFINITIONS[0].1);
    place.succeeds("run <b>&.ptx --design rfc --html page.html");
    let page = place.read("page.html");
    assert!(page.contains("<title>&lt;b&gt;&amp;.ptx"), "{}", between(&page, ("<title>", "</title>")));
    assert!(!between(&page, ("id=\"data\">", "</script>")).contains('<'));
    assert!(data(&page)["title"].as_str().expect("a title").starts_with("<b>&.ptx"));
}

#[test]
fn pages_of_figures_sweeps_and_comparisons_have_what_is_printed() {
    let place = Place::new();
    let printed = place
        .succeeds("figure regless-16 gebhart-table5 --size tiny --workloads nn,vectoradd --html figure.html");
    let figure = data(&place.read("figure.html"));
    let tables = sections(&figure, "table");
    // The row of rules below the headings of a table.
    let is_rule = |line: &&str| line.starts_with("| --");
    let claims = tables.iter().filter(|table| table["title"] == "The paper and the model");
    assert_eq!(tables.len() - claims.count(), printed.lines().filter(is_rule).count());
    let claims = tables.iter().filter(|table| table["title"] == "The paper and the model");
    for row in claims.flat_map(|table| table["rows"].as_array().expect("rows")) {
        assert!(printed.contains(row[2].as_str().expect("text")), "{row}");
    }
    let charts = sections(&figure, "charts");
    let paper =
        charts.iter().flat_map(|section| section["charts"].as_array().expect("charts")).any(|chart| {
            let series = chart["plot"]["series"].as_array();
            series.is_some_and(|all| {
                all.iter().any(|bars| {
                    bars["paper"].as_array().is_some_and(|marks| marks.iter().any(Value::is_number))
                })
            })
        });
    assert!(paper, "what the paper says stands beside what comes out");

    place.succeeds(
        "sweep --kernels nn --size tiny --design rfc --set rfc.entries=2,4 --out r --html sweep.html",
    );
    let sweep = data(&place.read("sweep.html"));
    let runs = sections(&sweep, "runs")[0];
    assert_eq!(runs["axes"][2]["name"], "rfc.entries");
    assert_eq!(runs["axes"][2]["values"], serde_json::json!(["2", "4"]));
    let baseline = &runs["rows"][0];
    assert_eq!(
        (&baseline["at"][1], &baseline["at"][2]),
        (&Value::from(0), &Value::Null),
        "first, without entries"
    );

    for (name, entries) in [("a", 2), ("b", 4)] {
        place.succeeds(&format!("run nn --size tiny --design rfc --set rfc.entries={entries} --out {name}"));
    }
    let compared = place.json("compare a b --json --html compare.html");
    let page = data(&place.read("compare.html"));
    let rows = |title: &str| {
        let table = sections(&page, "table")
            .into_iter()
            .find(|table| table["title"].as_str().expect("text").starts_with(title));
        table.expect(title)["rows"].as_array().expect("rows").clone()
    };
    let figures = compared["figures"].as_array().expect("figures");
    assert_eq!(rows("Figures that differ").len(), figures.len());
    assert_eq!(rows("Parameters"), [serde_json::json!(["rfc.entries", "2", "4"])]);
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_anything_runs() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder")).expect("made");
    let told = place.all_refused(&[
        "run nn --size large --html folder",
        "figure regless-16 --html no/page.html",
        "sweep --kernels nn --size large --design rfc --out r --html folder",
        "compare a b --html folder",
    ]);
    assert_eq!(told.matches("cannot write").count(), 4, "{told}");
}

#[test]
fn drawings_for_a_paper_have_its_width_legible_letters_and_a_title_only_if_asked() {
    let place = Place::new();
    let title = |svg: &str| svg.contains("font-size=\"16\"");
    for (width, inches) in [("column", "3.3in"), ("page", "7in")] {
        place.succeeds(&format!(
            "figure regless-table2 --size tiny --workloads nn,bfs --svg {width}.svg --width {width}"
        ));
        let svg = place.read(&format!("{width}.svg"));
        assert!(svg.contains(&format!("width=\"{inches}\"")) && !title(&svg), "{}", &svg[..200]);
        // A unit is 0.7 points, as the width of the drawing in units and in inches says.
        let units: f64 = between(&svg, ("viewBox=\"0 0 ", " ")).parse().expect("a number");
        let points = inches.trim_end_matches("in").parse::<f64>().expect("a number") * 72.0;
        let sizes = svg.split("font-size=\"").skip(1).map(|rest| rest.split('"').next().expect("a number"));
        let smallest = sizes.map(|size| size.parse::<f64>().expect("a number")).fold(f64::INFINITY, f64::min);
        assert!(smallest * points / units >= 6.99, "{smallest} units of {units}");
    }
    place.succeeds("figure regless-table2 --size tiny --workloads nn --svg titled.svg --title Regions");
    let titled = place.read("titled.svg");
    assert!(title(&titled) && titled.contains(">Regions<"));

    let mut without = place.command("figure regless-table2 --size tiny --workloads nn --pdf figure.pdf");
    let output = without.env("PATH", place.path("nothing")).output().expect("started");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("there is no rsvg-convert here"), "{told}");
    if std::process::Command::new("rsvg-convert").arg("--version").output().is_ok() {
        place.succeeds("figure regless-table2 --size tiny --workloads nn --pdf figure.pdf --width column");
        let pdf = place.bytes("figure.pdf");
        assert!(pdf.starts_with(b"%PDF-") && pdf.windows(9).any(|bytes| bytes == b"/MediaBox"));
    }
}
