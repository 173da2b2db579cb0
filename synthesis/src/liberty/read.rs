//! From the groups and attributes of a Liberty text to a [`Library`].

use std::collections::BTreeMap;

use liberty_parser::Value;
use liberty_parser::liberty::Group;

use super::{Cell, FlipFlop, Function, InternalEnergy, Library, Pin, Storage, Table, Transition, groups};

/// Units of a library, and its lookup templates.
struct Units<'g> {
    time_ns: f64,
    capacitance_pf: f64,
    leakage_mw: f64,
    voltage: f64,
    templates: BTreeMap<&'g str, Axes>,
}

/// Which axis each index of a template is.
#[derive(Clone, Copy, Default)]
struct Axes {
    first: Option<Axis>,
    second: Option<Axis>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Load,
    Transition,
}

/// Reads the outermost group.
pub(super) fn library(group: &Group) -> Result<Library, String> {
    let units = Units::read(group)?;
    let mut cells = BTreeMap::new();
    for cell in groups(group, "cell") {
        let read = units.cell(cell).map_err(|problem| format!("cell {}: {problem}", cell.name))?;
        cells.insert(unquoted(&cell.name).to_owned(), read);
    }
    let voltage = number(group, "nom_voltage").ok_or("library: no nom_voltage")? * units.voltage;
    Ok(Library { name: unquoted(&group.name).to_owned(), voltage, cells })
}

impl<'g> Units<'g> {
    fn read(group: &'g Group) -> Result<Units<'g>, String> {
        let of = |name: &str, symbol: &str| match text(group, name) {
            None => Err(format!("library: no {name}")),
            Some(value) => scaled(&value, symbol)
                .ok_or_else(|| format!("library: {name} is `{value}`; a number with {symbol} is accepted")),
        };
        let templates = ["lu_table_template", "power_lut_template"].into_iter();
        let templates = templates.flat_map(|kind| groups(group, kind));
        Ok(Units {
            time_ns: of("time_unit", "s")? / 1e-9,
            capacitance_pf: capacitance_unit(group)?,
            leakage_mw: of("leakage_power_unit", "W")? / 1e-3,
            voltage: of("voltage_unit", "V")?,
            templates: templates.map(|template| (unquoted(&template.name), Axes::read(template))).collect(),
        })
    }

    /// Energy of internal power tables, pJ: capacitance times voltage squared.
    fn energy_pj(&self) -> f64 {
        self.capacitance_pf * self.voltage * self.voltage
    }

    fn cell(&self, group: &Group) -> Result<Cell, String> {
        let mut pins = BTreeMap::new();
        for pin in groups(group, "pin") {
            let read = self.pin(pin).map_err(|problem| format!("pin {}: {problem}", pin.name))?;
            if let Some(read) = read {
                pins.insert(unquoted(&pin.name).to_owned(), read);
            }
        }
        Ok(Cell {
            area_um2: number(group, "area").ok_or("no area")?,
            leakage_mw: self.leakage(group) * self.leakage_mw,
            pins,
            storage: storage(group)?,
        })
    }

    /// The cell's leakage, or the mean of its states'.
    fn leakage(&self, group: &Group) -> f64 {
        let states: Vec<f64> =
            groups(group, "leakage_power").filter_map(|state| number(state, "value")).collect();
        let mean = states.iter().sum::<f64>() / states.len().max(1) as f64;
        number(group, "cell_leakage_power").unwrap_or(mean)
    }

    /// None for a pin that is neither an input nor an output.
    fn pin(&self, group: &Group) -> Result<Option<Pin>, String> {
        let is_output = match text(group, "direction").as_deref() {
            Some("input") => false,
            Some("output") => true,
            Some(_) | None => return Ok(None),
        };
        let can_let_go = text(group, "three_state").is_some();
        let function = match text(group, "function").filter(|_| !can_let_go) {
            None => None,
            Some(text) => {
                Some(Function::parse(&text).map_err(|problem| format!("function `{text}`: {problem}"))?)
            }
        };
        let mut internal = Vec::new();
        for energy in groups(group, "internal_power") {
            internal.push(InternalEnergy {
                related: text(energy, "related_pin"),
                rise: self.table(energy, "rise_power", self.energy_pj())?,
                fall: self.table(energy, "fall_power", self.energy_pj())?,
            });
        }
        let mut transitions = Vec::new();
        for timing in groups(group, "timing").filter(|_| is_output) {
            let Some(related) = text(timing, "related_pin") else { continue };
            transitions.push(Transition {
                related,
                rise: self.table(timing, "rise_transition", self.time_ns)?,
                fall: self.table(timing, "fall_transition", self.time_ns)?,
            });
        }
        let capacitance_pf = number(group, "capacitance").unwrap_or(0.0) * self.capacitance_pf;
        Ok(Some(Pin { is_output, capacitance_pf, function, internal, transitions }))
    }

    /// A table of the group, its values times `unit`. `power` in place of `rise_power` and `fall_power` is both.
    fn table(&self, group: &Group, kind: &str, unit: f64) -> Result<Option<Table>, String> {
        let both = if kind.ends_with("_power") { "power" } else { kind };
        let Some(found) = groups(group, kind).next().or_else(|| groups(group, both).next()) else {
            return Ok(None);
        };
        let template = unquoted(&found.name);
        let axes = self.templates.get(template).copied().unwrap_or_default();
        let index = |name: &str| numbers(found, name).into_iter().flatten().collect::<Vec<f64>>();
        let mut rows = numbers(found, "values");
        let (mut loads, mut transitions) = (Vec::new(), Vec::new());
        for (axis, points) in [(axes.first, index("index_1")), (axes.second, index("index_2"))] {
            match axis {
                Some(Axis::Load) => loads = points,
                Some(Axis::Transition) => transitions = points,
                None => {}
            }
        }
        if axes.first == Some(Axis::Transition) {
            rows = transposed(rows);
        } else if axes.second.is_none() {
            rows = rows.into_iter().flatten().map(|value| vec![value]).collect();
        }
        let fits = |points: usize, values: usize| points == values || points == 0 && values == 1;
        let is_table = !rows.is_empty()
            && fits(loads.len(), rows.len())
            && rows.iter().all(|row| fits(transitions.len(), row.len()))
            && [&loads, &transitions].iter().all(|axis| axis.is_sorted());
        if !is_table {
            return Err(format!("{kind} ({template}): its values do not fit its indices"));
        }
        for value in rows.iter_mut().flatten() {
            *value *= unit;
        }
        let loads_pf = loads.iter().map(|load| load * self.capacitance_pf).collect();
        let transitions_ns = transitions.iter().map(|time| time * self.time_ns).collect();
        Ok(Some(Table { loads_pf, transitions_ns, values: rows }))
    }
}

impl Axes {
    fn read(template: &Group) -> Axes {
        let axis = |name: &str| match text(template, name)?.as_str() {
            "total_output_net_capacitance" => Some(Axis::Load),
            "input_net_transition" | "input_transition_time" => Some(Axis::Transition),
            // Constraints have axes of their own; none of them is asked for.
            _ => None,
        };
        Axes { first: axis("variable_1"), second: axis("variable_2") }
    }
}

/// Columns as rows; values of a single index stay one row.
fn transposed(rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let columns = rows.iter().map(Vec::len).min().unwrap_or(0);
    if rows.len() == 1 {
        return rows;
    }
    (0..columns).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
}

fn storage(group: &Group) -> Result<Storage, String> {
    let has = |kind: &str| groups(group, kind).next().is_some();
    let Some(flip_flop) = groups(group, "ff").next() else {
        let other = ["latch", "latch_bank", "ff_bank", "statetable"].into_iter().any(has);
        return Ok(if other { Storage::Other } else { Storage::None });
    };
    if ["clear", "preset"].into_iter().any(|name| text(flip_flop, name).is_some()) {
        return Ok(Storage::Other);
    }
    let function = |name: &str| {
        let text = text(flip_flop, name).ok_or_else(|| format!("ff: no {name}"))?;
        Function::parse(&text).map_err(|problem| format!("ff: {name} `{text}`: {problem}"))
    };
    let (next, clock) = (function("next_state")?, function("clocked_on")?);
    let mut names = flip_flop.name.split(',').map(|name| unquoted(name.trim()).to_owned());
    let (Some(state), Some(complement)) = (names.next(), names.next()) else {
        return Err("ff: names of the stored bit and its complement are missing".to_owned());
    };
    match &clock.inputs[..] {
        [pin] if clock.table == 0b10 => {
            Ok(Storage::FlipFlop(FlipFlop { state, complement, next, clock: pin.clone() }))
        }
        _ => Ok(Storage::Other),
    }
}

/// Capacitance of one unit, pF.
fn capacitance_unit(group: &Group) -> Result<f64, String> {
    let problem = "library: no capacitive_load_unit (number, ff or pf)";
    let values = group.complex_attribute("capacitive_load_unit").ok_or(problem)?;
    let [count, unit] = &values[..] else { return Err(problem.to_owned()) };
    let picofarads = match written(unit).to_lowercase().as_str() {
        "ff" => 1e-3,
        "pf" => 1.0,
        _ => return Err(problem.to_owned()),
    };
    Ok(float(count).ok_or(problem)? * picofarads)
}

/// `1ns` with symbol `s` is 1e-9.
fn scaled(text: &str, symbol: &str) -> Option<f64> {
    let number = text.trim().strip_suffix(symbol)?;
    let (digits, factor) = match number.trim_end().chars().last()? {
        'm' => (number.trim_end_matches('m'), 1e-3),
        'u' => (number.trim_end_matches('u'), 1e-6),
        'n' => (number.trim_end_matches('n'), 1e-9),
        'p' => (number.trim_end_matches('p'), 1e-12),
        'f' => (number.trim_end_matches('f'), 1e-15),
        _ => (number, 1.0),
    };
    digits.trim().parse::<f64>().ok().map(|value| value * factor)
}

fn number(group: &Group, name: &str) -> Option<f64> {
    group.simple_attribute(name).and_then(float)
}

fn text(group: &Group, name: &str) -> Option<String> {
    group.simple_attribute(name).map(written)
}

/// The rows of numbers of an attribute such as `values`.
fn numbers(group: &Group, name: &str) -> Vec<Vec<f64>> {
    let values = group.complex_attribute(name).map(Vec::as_slice).unwrap_or_default();
    values.iter().map(row).collect()
}

fn row(value: &Value) -> Vec<f64> {
    match value {
        Value::FloatGroup(numbers) => numbers.clone(),
        Value::Float(number) => vec![*number],
        // A row of one number is read as a word.
        Value::String(text) | Value::Expression(text) => {
            text.split(',').filter_map(|number| number.trim().parse().ok()).collect()
        }
        Value::Bool(_) => Vec::new(),
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::String(text) | Value::Expression(text) => text.trim().parse().ok(),
        Value::Bool(_) | Value::FloatGroup(_) => None,
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) | Value::Expression(text) => unquoted(text.trim()).to_owned(),
        Value::Float(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        // Numbers in quotation marks, such as the function "0".
        Value::FloatGroup(numbers) => {
            numbers.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
        }
    }
}

fn unquoted(text: &str) -> &str {
    text.trim_matches('"')
}
