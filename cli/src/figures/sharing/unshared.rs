//! Workloads that the shared resource does not limit: Figs. 2.22 and 3.17.

use anyhow::Result;
use warpfile_kernels::workloads::Workload;

use super::{bars_absent, content, on};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, percent_change, ratio};
use crate::figures::sweep::{Point, Results, Run};

/// A machine, what shares there, and what the thesis says of it.
struct Unlimited {
    machine: &'static str,
    /// Designs that share, under OWF, and headings.
    shared: &'static [(&'static str, &'static str)],
    /// Scratchpad of the machine, bytes, if it is not that of the preset.
    scratchpad_bytes: Option<u64>,
    section: &'static str,
    notes: &'static str,
}

const REGISTERS: Unlimited = Unlimited {
    machine: "jatala-ch2",
    shared: &[("reg-share", "shared")],
    scratchpad_bytes: None,
    section: "§2.5.2",
    notes: "Registers are those that the code needs here. Of backprop the kernel is layer_forward and of neural second_layer, which \
            the thesis names; of the others all kernels count.",
};

const SCRATCHPAD: Unlimited = Unlimited {
    machine: "jatala-ch2",
    shared: &[("spad-share", "shared")],
    scratchpad_bytes: Some(super::SCRATCHPAD_BYTES),
    section: "§2.5.2",
    notes: "Of backprop the kernel is layer_forward and of neural second_layer, which \
            the thesis names; of the others all kernels count.",
};

const RELEASED: Unlimited = Unlimited {
    machine: "jatala-ch3",
    shared: &[("spad-share", "shared"), ("spad-share-relssp", "shared with relssp")],
    scratchpad_bytes: None,
    section: "§3.4.2",
    notes: "Of neural the kernel is second_layer, which the thesis names; of the others all kernels count.",
};

/// The kernels of programs of which others are limited (Tables 2.4 and 3.4); of other programs all count.
const UNLIMITED: [(&str, &str); 2] = [("backprop", "layer_forward"), ("neural", "second_layer")];

/// Cycles of the kernels that count, by workload.
fn cycles(results: &Results, point: &Point) -> Vec<u64> {
    let of = |(workload, run): (&&Workload, &Run)| {
        let launches = run.report.launch_kernels.iter().zip(&run.report.launch_cycles);
        let named = UNLIMITED.iter().find(|(name, _)| *name == workload.name);
        let counts = |kernel: &str| named.is_none_or(|(_, named)| *named == kernel);
        launches.filter(|(kernel, _)| counts(kernel)).map(|(_, cycles)| cycles).sum()
    };
    results.workloads.iter().zip(results.of(point)).map(of).collect()
}

/// Speed at a point, relative to another.
fn speedup(results: &Results, point: &Point, base: &Point) -> Vec<Option<f64>> {
    let runs = cycles(results, point).into_iter().zip(cycles(results, base));
    runs.map(|(run, base)| ratio(base as f64, run as f64)).collect()
}

/// Schedulers that take no notice of sharing.
const POLICIES: [(&str, &str); 2] = [("lrr", "LRR"), ("gto", "GTO")];

impl Unlimited {
    fn on_machine(&self, design: &str) -> Point {
        let point = on(self.machine, design);
        match self.scratchpad_bytes {
            Some(bytes) => point.with("sm.shared_memory_bytes", bytes),
            None => point,
        }
    }

    fn without(&self, policy: &str) -> Point {
        self.on_machine("baseline").with("scheduler.single_level", policy)
    }

    fn with(&self, design: &str, policy: &str) -> Point {
        self.on_machine(&format!("single-level+{design}")).with("scheduler.single_level", policy)
    }

    fn points(&self) -> Vec<Point> {
        let of_policy = |(policy, _)| {
            let with = self.shared.iter().map(move |(design, _)| self.with(design, policy));
            std::iter::once(self.without(policy)).chain(with)
        };
        let owf = self.shared.iter().map(|(design, _)| self.on_machine(design));
        POLICIES.into_iter().flat_map(of_policy).chain(owf).collect()
    }

    fn show(&self, results: &Results, figure: &'static str) -> Content {
        let lrr = self.without("lrr");
        let of = |key: String, heading: String, point: &Point| {
            Series::new(key, heading, 4, speedup(results, point, &lrr))
        };
        let mut series = Vec::new();
        for (policy, name) in POLICIES {
            if policy != "lrr" {
                series.push(of(policy.to_owned(), format!("unshared, {name}"), &self.without(policy)));
            }
            for (design, heading) in self.shared {
                let key = format!("{}_{policy}", heading.replace(' ', "_"));
                series.push(of(key, format!("{heading}, {name}"), &self.with(design, policy)));
            }
        }
        for (design, heading) in self.shared {
            series.push(of(
                format!("{}_owf", heading.replace(' ', "_")),
                format!("{heading}, OWF"),
                &self.on_machine(design),
            ));
        }
        let mut claims: Vec<Claim> = POLICIES.iter().map(|policy| self.same(results, *policy)).collect();
        let owf = self.on_machine(self.shared[self.shared.len() - 1].0);
        let beside_gto = Series::new("beside", "", 3, speedup(results, &owf, &self.without("gto")));
        let mean = beside_gto.average(results, Average::Geometric);
        // As for Figs. 2.20(b) and 3.14, of which the thesis says the same.
        let comparable = Stated::between(-5.0, 5.0);
        let what = "IPC under OWF beside GTO; comparable is taken to be within five per cent";
        let number = Number::change("owf", what, comparable, percent_change(mean));
        claims.push(
            Claim::new(self.section, "OWF is comparable to GTO without sharing", change(mean)).number(number),
        );
        claims.push(bars_absent(figure));
        let title = "Instructions a cycle, relative to LRR without sharing";
        content(results, title, claims, &series, vec![self.notes.to_owned()])
    }

    /// How many workloads take the same cycles with sharing, whichever design.
    fn same(&self, results: &Results, (policy, name): (&'static str, &str)) -> Claim {
        let without = cycles(results, &self.without(policy));
        let with: Vec<Vec<u64>> =
            self.shared.iter().map(|(design, _)| cycles(results, &self.with(design, policy))).collect();
        let is_same = |place: &usize| with.iter().all(|cycles| cycles[*place] == without[*place]);
        let equal = (0..without.len()).filter(is_same).count();
        let what = format!("workloads whose cycles are the same with sharing under {name}, per cent");
        let here = (!without.is_empty()).then(|| 100.0 * equal as f64 / without.len() as f64);
        let said = format!("under {name} sharing changes no cycle");
        Claim::new(self.section, said, format!("the same cycles in {equal} of {}", without.len()))
            .number(Number::share(policy, what, Stated::exactly(100.0), here))
    }
}

/// LRR and GTO with and without register sharing, and OWF.
pub fn points_22a() -> Vec<Point> {
    REGISTERS.points()
}

/// Fig. 2.22(a).
pub fn figure_22a(results: &Results) -> Result<Content> {
    Ok(REGISTERS.show(results, "Fig. 2.22(a)"))
}

/// The same with scratchpad sharing.
pub fn points_22b() -> Vec<Point> {
    SCRATCHPAD.points()
}

/// Fig. 2.22(b).
pub fn figure_22b(results: &Results) -> Result<Content> {
    Ok(SCRATCHPAD.show(results, "Fig. 2.22(b)"))
}

/// The same with `relssp`.
pub fn points_17() -> Vec<Point> {
    RELEASED.points()
}

/// Fig. 3.17.
pub fn figure_17(results: &Results) -> Result<Content> {
    Ok(RELEASED.show(results, "Fig. 3.17"))
}
