//! The runs of a sweep: every kernel with every design at every point of the parameters and every seed, each once.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use warpfile_kernels::workloads;
use warpfile_sim::config::Config;
use warpfile_sim::energy::EnergyModel;
use warpfile_sim::sm::EngineName;

use super::What;
use super::values::Axis;
use crate::configuration::with_values;
use crate::identity::{depends_on, determining_parameters, kernel_hash, run_hash};
use crate::input::{Input, InputArguments, Source};
use crate::results::{flat, plain};
use crate::run::BASELINE;
use crate::simulate::Setting;

/// Most runs of a sweep.
const MAX_RUNS: usize = 1_000_000;
/// Stands for all workloads.
const ALL: &str = "all";

/// All runs of a sweep, in the order in which they are made.
pub struct Plan {
    /// Kernels, by [`PlannedRun::kernel`].
    pub kernels: Vec<Kernel>,
    /// Configurations, by [`PlannedRun::config`].
    pub configs: Vec<Config>,
    /// For each configuration the first for which kernels are compiled alike.
    pub alike: Vec<usize>,
    /// Parameters that have several values.
    varied: Vec<String>,
    /// Those of one kernel, and among them those with one baseline, are neighbours.
    pub runs: Vec<PlannedRun>,
    /// What runs the circuits.
    pub engine: EngineName,
    /// Whether accesses outside of every buffer are tolerated.
    pub tolerated: bool,
}

/// What is run, and the hash of its text.
pub struct Kernel {
    /// The kernel.
    pub input: Input,
    /// Of its text.
    pub hash: String,
}

/// A run that is to be made.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// The hash of everything that determines it.
    pub id: String,
    /// What is run.
    pub kernel: usize,
    /// What it is run through.
    pub config: usize,
    /// What state without a reset starts from.
    pub seed: u64,
    /// The run of the baseline on the same machine, which its energies are relative to; itself if it is one.
    pub baseline: usize,
}

impl Plan {
    /// The setting of a run.
    pub fn setting(&self, run: &PlannedRun) -> Setting {
        Setting { seed: run.seed, check_seeds: 0, engine: self.engine }
    }

    /// Makes the plan. Nothing is run, and what cannot be run is refused.
    ///
    /// # Errors
    /// A kernel, a design or a parameter cannot be used, alone or together with the others.
    pub fn new(what: &What, engine: EngineName) -> anyhow::Result<Plan> {
        let points = points(what)?;
        let kernels = kernels(what, &points[0].baseline)?;
        let seeds = what.seeds.as_ref().map_or(vec![0], |seeds| seeds.0.clone());
        let per_kernel: usize = points.iter().map(|point| 1 + point.designs.len()).sum();
        let all = per_kernel.saturating_mul(seeds.len()).saturating_mul(kernels.len());
        if all > MAX_RUNS {
            bail!("{all} runs; accepted: {MAX_RUNS} at most");
        }
        let tolerated = what.tolerance.tolerate_out_of_bounds;
        let varied =
            what.sets.iter().filter(|axis| axis.values.len() > 1).map(|axis| axis.name.clone()).collect();
        let (configs, alike, runs) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = Plan { kernels, configs, alike, varied, runs, engine, tolerated };
        plan.add_runs(points, &seeds);
        plan.order();
        plan.alike = Source::alike(&plan.configs.iter().collect::<Vec<_>>());
        Ok(plan)
    }

    /// The values of a run's parameters that have several, `name=value`; not of those that it does not depend on.
    pub fn values(&self, run: &PlannedRun) -> Vec<String> {
        let config = &self.configs[run.config];
        let parameters = flat(&serde_json::json!(determining_parameters(config)));
        let value = |name: &String| Some(format!("{name}={}", plain(parameters.get(name)?)));
        self.varied.iter().filter_map(value).collect()
    }

    fn add_runs(&mut self, points: Vec<Point>, seeds: &[u64]) {
        let mut known = BTreeMap::new();
        for Point { baseline, designs } in points {
            let baseline = self.add_config(baseline);
            let designs: Vec<(usize, String)> =
                designs.into_iter().map(|config| self.add_config(config)).collect();
            for kernel in 0..self.kernels.len() {
                for &seed in seeds {
                    let beside = self.add_run(&mut known, kernel, &baseline, seed, None);
                    for design in &designs {
                        self.add_run(&mut known, kernel, design, seed, Some(beside));
                    }
                }
            }
        }
    }

    /// The number of a configuration, and what of it determines a run.
    fn add_config(&mut self, config: Config) -> (usize, String) {
        let parameters = determining_parameters(&config).to_string();
        self.configs.push(config);
        (self.configs.len() - 1, parameters)
    }

    /// The number of a run, which is added if it is not known.
    fn add_run(
        &mut self,
        known: &mut BTreeMap<String, usize>,
        kernel: usize,
        (config, parameters): &(usize, String),
        seed: u64,
        baseline: Option<usize>,
    ) -> usize {
        let Kernel { input, hash } = &self.kernels[kernel];
        let setting = Setting { seed, check_seeds: 0, engine: self.engine };
        let id = run_hash(input, hash, parameters, setting, self.tolerated);
        let number = self.runs.len();
        *known.entry(id.clone()).or_insert_with(|| {
            let baseline = baseline.unwrap_or(number);
            self.runs.push(PlannedRun { id, kernel, config: *config, seed, baseline });
            number
        })
    }

    /// Makes neighbours of the runs that share most.
    fn order(&mut self) {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|&run| (self.runs[run].kernel, self.runs[run].baseline));
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| position[old] = new);
        let moved = |&old: &usize| PlannedRun {
            baseline: position[self.runs[old].baseline],
            ..self.runs[old].clone()
        };
        self.runs = order.iter().map(moved).collect();
    }
}

/// A machine: the baseline and the designs on it.
struct Point {
    baseline: Config,
    designs: Vec<Config>,
}

/// Every combination of values, checked.
fn points(what: &What) -> anyhow::Result<Vec<Point>> {
    let axes = &what.sets;
    check_axes(axes)?;
    let machines = what.machine.configurations(&what.design)?;
    let baseline = machines[0].with_design(BASELINE)?;
    check_effect(axes, &machines)?;
    let combinations = combinations(axes)?;
    let point = |sets: Vec<(String, String)>| {
        let with = |config: &Config| {
            let config = with_values(config.clone(), &sets)?;
            EnergyModel::named(&config.energy.technology)?;
            Ok(config)
        };
        let designs = machines.iter().map(with).collect::<anyhow::Result<_>>();
        let point = designs.and_then(|designs| Ok(Point { baseline: with(&baseline)?, designs }));
        // Of one parameter the error itself says which value it has.
        if axes.len() > 1 { point.with_context(|| shown(&sets)) } else { point }
    };
    combinations.into_iter().map(point).collect()
}

/// `rfc.entries=4 scheduler.active_warps=8`.
fn shown(sets: &[(String, String)]) -> String {
    sets.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// No parameter twice, and none that has an option of its own.
fn check_axes(axes: &[Axis]) -> anyhow::Result<()> {
    for (number, Axis { name, .. }) in axes.iter().enumerate() {
        if axes[..number].iter().any(|other| other.name == *name) {
            bail!("--set {name} is given twice; accepted: all its values in one, separated by commas");
        }
        if name == "design" {
            bail!("--set design: accepted: --design, with designs separated by commas");
        }
    }
    Ok(())
}

/// Several values of a parameter that no design has would all be the same run.
fn check_effect(axes: &[Axis], machines: &[Config]) -> anyhow::Result<()> {
    let several = axes.iter().filter(|axis| axis.values.len() > 1);
    for Axis { name, values } in several {
        if !machines.iter().any(|config| depends_on(config, name)) {
            let designs: Vec<&str> = machines.iter().map(|config| config.design.as_str()).collect();
            bail!(
                "--set {name}={}: no design of the sweep has this parameter ({}); accepted: one value, or a design that has it",
                values.join(","),
                designs.join(", ")
            );
        }
    }
    Ok(())
}

/// Every combination of a value of each axis; the last axis changes first.
fn combinations(axes: &[Axis]) -> anyhow::Result<Vec<Vec<(String, String)>>> {
    let count = axes.iter().map(|axis| axis.values.len()).try_fold(1usize, usize::checked_mul);
    if count.is_none_or(|count| count > MAX_RUNS) {
        bail!("too many combinations of values; accepted: {MAX_RUNS} at most");
    }
    let mut all = vec![Vec::new()];
    for Axis { name, values } in axes {
        let longer = |sets: &Vec<(String, String)>| {
            let with = |value: &String| [sets.as_slice(), &[(name.clone(), value.clone())]].concat();
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    Ok(all)
}

/// The kernels, each once; what they are made of has been read.
fn kernels(what: &What, config: &Config) -> anyhow::Result<Vec<Kernel>> {
    let mut names: Vec<&str> = Vec::new();
    for name in &what.kernels {
        let of_name = if name == ALL {
            workloads::list().iter().map(|workload| workload.name).collect()
        } else {
            vec![name.as_str()]
        };
        names.extend(of_name);
    }
    if names.is_empty() {
        bail!("no kernels; accepted: --kernels with names, files, or all (see `warpfile list kernels`)");
    }
    let mut kernels: Vec<Kernel> = Vec::new();
    for name in names {
        let input = InputArguments::with_code(name, what.size.as_deref(), &what.code).resolve()?;
        if kernels.iter().any(|known| known.input.word() == input.word()) {
            continue;
        }
        check(what, &input, config)?;
        let hash = kernel_hash(&input)?;
        kernels.push(Kernel { input, hash });
    }
    Ok(kernels)
}

/// An error if a kernel cannot be opened. Of a workload only its size may be at fault.
fn check(what: &What, input: &Input, config: &Config) -> anyhow::Result<()> {
    match input {
        Input::Workload { workload, size, .. } => {
            workload.launch_file()?.size(size)?;
        }
        Input::Ptx { .. } | Input::Launch { .. } | Input::Trace { .. } => {
            input.open(what.tolerance.options(config), Some(config))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Words {
        #[command(flatten)]
        what: What,
    }

    fn plan(words: &str) -> Plan {
        let words = Words::try_parse_from(words.split_whitespace()).expect("accepted");
        Plan::new(&words.what, EngineName::default()).expect("a plan")
    }

    /// Kernel, design and seed of each run.
    fn runs(plan: &Plan) -> Vec<(String, String, u64)> {
        let of_run = |run: &PlannedRun| {
            let kernel = plan.kernels[run.kernel].input.word();
            (kernel, plan.configs[run.config].design.to_string(), run.seed)
        };
        plan.runs.iter().map(of_run).collect()
    }

    #[test]
    fn the_baseline_is_run_once_for_all_values_of_a_parameter_that_it_does_not_have() {
        let plan = plan("--kernels vectoradd --design rfc --set rfc.entries=2,4,6");
        let designs: Vec<String> = runs(&plan).into_iter().map(|(_, design, _)| design).collect();
        assert_eq!(designs, ["baseline", "rfc", "rfc", "rfc"]);
        assert!(plan.runs.iter().all(|run| run.baseline == 0));
    }

    #[test]
    fn runs_of_one_kernel_and_of_one_baseline_are_neighbours() {
        let plan = plan(
            "--kernels vectoradd,nw --design rfc,two-level --seeds 0,1 --set rfc.entries=2,4 \
             --set scheduler.active_warps=4..6",
        );
        // A baseline, two sizes of the cache and one without it, of each kernel, seed and number of warps.
        assert_eq!(plan.runs.len(), 2 * 2 * 2 * 4);
        let shared: Vec<(usize, usize)> = plan.runs.iter().map(|run| (run.kernel, run.baseline)).collect();
        assert!(shared.is_sorted());
        for (number, run) in plan.runs.iter().enumerate() {
            let baseline = &plan.runs[run.baseline];
            assert_eq!(plan.configs[baseline.config].design.as_str(), BASELINE);
            assert_eq!((baseline.kernel, baseline.seed), (run.kernel, run.seed));
            let warps = |run: &PlannedRun| plan.configs[run.config].scheduler.active_warps;
            assert_eq!(warps(baseline), warps(run), "run {number}");
        }
    }

    #[test]
    fn what_does_not_determine_a_run_does_not_change_its_identity() {
        let one = plan("--kernels vectoradd --size tiny --design rfc --set rfc.entries=4");
        let more = plan(
            "--kernels nw,vectoradd --size tiny --design two-level,rfc --set rfc.entries=4,6 --seeds 0..3",
        );
        let ids = |plan: &Plan| plan.runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
        let more = ids(&more);
        assert!(ids(&one).iter().all(|id| more.contains(id)));
        let mut once = more.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), more.len());
    }
}
