//! Everything that has the shape of `docs/report.schema.json` is checked against it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::Place;
use crate::runs::{SOFT_DEFINITIONS, write_soft_definition};

/// A JSON schema of the keywords that ours has; any other is an error, so that nothing passes for want of a check.
struct Schema(Value);

impl Schema {
    fn read() -> Schema {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report.schema.json");
        Schema(serde_json::from_str(&fs::read_to_string(path).expect("readable")).expect("JSON"))
    }

    /// What is wrong with a document, with the place.
    fn problems(&self, document: &Value) -> Vec<String> {
        let mut problems = Vec::new();
        self.check(&self.0, document, "", &mut problems);
        problems
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
        for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
            let holds = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" => true,
                "$ref" => {
                    let target = wanted
                        .as_str()
                        .and_then(|target| target.strip_prefix('#'))
                        .expect("a local reference");
                    self.check(self.0.pointer(target).expect(target), value, at, problems);
                    true
                }
                "type" => match wanted {
                    Value::Array(types) => types.iter().any(|one| is_of_type(value, one)),
                    one => is_of_type(value, one),
                },
                "enum" => wanted.as_array().expect("a list").contains(value),
                "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().expect("a number")),
                "required" => {
                    let missing = |key: &&Value| value.get(key.as_str().expect("a key")).is_none();
                    !value.is_object() || wanted.as_array().expect("a list").iter().find(missing).is_none()
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(wanted, item, &format!("{at}/{index}"), problems);
                    }
                    true
                }
                "properties" => {
                    for (key, schema) in wanted.as_object().expect("an object") {
                        value
                            .get(key)
                            .into_iter()
                            .for_each(|value| self.check(schema, value, &format!("{at}/{key}"), problems));
                    }
                    true
                }
                "additionalProperties" => {
                    let known = |key: &String| schema["properties"].get(key).is_some();
                    let others = value.as_object().into_iter().flatten().filter(|(key, _)| !known(key));
                    for (key, value) in others {
                        match wanted {
                            Value::Bool(true) => {}
                            Value::Bool(false) => problems.push(format!("{at}/{key}: not in the schema")),
                            schema => self.check(schema, value, &format!("{at}/{key}"), problems),
                        }
                    }
                    true
                }
                unknown => panic!("the keyword {unknown} is not checked here"),
            };
            if !holds {
                problems.push(format!("{at}: {keyword} {wanted}, but it is {value}"));
            }
        }
    }
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("a name") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}

fn assert_valid(document: &Value) {
    let problems = Schema::read().problems(document);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn reports_of_every_kind_of_input_have_the_shape_of_the_schema() {
    let place = Place::with_workload("vectoradd");
    place.succeeds("trace vectoradd --size tiny -o t.wft");
    let commands = [
        "run vectoradd nw --size tiny --design rfc,two-level --json",
        "run vectoradd --size tiny --design regless,rfv,rfh --json",
        "run vectoradd --size tiny --design wir-rlpvc,affine-rlpv --json",
        "run vectoradd --size tiny --design greener,hybrid,reg-share --json",
        "run vectoradd.ptx --size tiny --tolerate-out-of-bounds --json",
        "run vectoradd.toml --size tiny --min-registers 20 --seed 18446744073709551615 --json",
        "run t.wft --design rfc --json",
        "run scan --size tiny --design spad-share --addresses 32 --operands scratchpad --json",
        "run hotspot --size tiny --set chip.sms=2 --set chip.simulated_sms=2 --engine interpreter --json",
    ];
    for command in commands {
        assert_valid(&place.json(command));
    }
}

#[test]
fn runs_of_a_sweep_have_the_shape_of_the_schema_whether_they_end_in_an_error_or_not() {
    let place = Place::new();
    let (name, body) = SOFT_DEFINITIONS[0];
    write_soft_definition(&place, name, body);
    place.run(
        "sweep --kernels diamond.toml --schedule none --preset gtx980-regless --design regless --out r \
         --set regless.lines=64 --set regless.max_live_fraction=0.5 --set regless.compressor_lines=0 \
         --set regless.soft_defs=paper,sound",
    );
    let runs: Vec<Value> = place
        .files()
        .iter()
        .filter(|file| file.starts_with("r/runs/"))
        .map(|file| serde_json::from_str(&place.read(file)).expect("JSON"))
        .collect();
    runs.iter().for_each(assert_valid);
    assert_eq!((runs.len(), runs.iter().filter(|run| run.get("error").is_some()).count()), (3, 1));
}

#[test]
fn a_document_of_another_shape_is_found() {
    let mut document = Place::new().json("run vectoradd --size tiny --json");
    document["kernels"][0]["designs"][0]["cycles"] = "many".into();
    document["more"] = 1.into();
    document.as_object_mut().expect("an object").remove("engine");
    let problems = Schema::read().problems(&document);
    for part in ["/kernels/0/designs/0/cycles: type", "/more: not in the schema", "required"] {
        assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:?}");
    }
}
