//! The files of the CACTI runs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Array, ArrayGrid, Cam, Grid, GridError, Origin, Ports};

/// Name and text of a file.
pub(super) type File<'t> = (&'t str, &'t str);

/// The four files.
pub(super) struct Files<'t> {
    pub runs: File<'t>,
    pub extrapolated: File<'t>,
    pub array_fit: File<'t>,
    pub cam_fit: File<'t>,
}

/// Square micrometres in a square millimetre.
const UM2: f64 = 1e6;

/// A run: one array of one technology node. Columns that nothing is made of are not read.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Run {
    pub node_nm: u32,
    pub entries: u32,
    pub bits_per_entry: u32,
    read_ports: u32,
    write_ports: u32,
    rw_ports: u32,
    pub kind: Kind,
    pub read_pj: f64,
    pub write_pj: f64,
    pub leakage_mw: f64,
    leakage_mw_gated: Option<f64>,
    pub area_mm2: f64,
}

/// What gating saves of a bit's leakage, mW, by node: what the runs have in common (cacti/README.md).
const GATED_MW_PER_BIT: [(u32, f64); 5] =
    [(45, 29.66e-6), (40, 20.21e-6), (32, 8.975e-6), (28, 6.904e-6), (22, 4.388e-6)];

/// Leakage with gating, of an array of which it was not run.
fn gated_mw(node_nm: u32, cells: f64, leakage_mw: f64) -> f64 {
    let of_node = GATED_MW_PER_BIT.iter().find(|(node, _)| *node == node_nm);
    (leakage_mw - of_node.map_or(0.0, |(_, saved)| saved * cells)).max(0.0)
}

/// What was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Ram,
    Cam,
}

/// A quantity that was fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Quantity {
    ReadPj,
    WritePj,
    SearchPj,
    LeakageMw,
    AreaMm2,
}

/// `constant + N·entries + B·bits + √(NB)·root + NB·cells + B√(NB)·bits_root + B²·bits_squared`.
#[derive(Clone, Debug, Deserialize)]
struct ArrayPolynomial {
    quantity: Quantity,
    node_nm: u32,
    ports: String,
    #[serde(rename = "c_1")]
    constant: f64,
    #[serde(rename = "c_N")]
    entries: f64,
    #[serde(rename = "c_B")]
    bits: f64,
    #[serde(rename = "c_sqrt(NB)")]
    root: f64,
    #[serde(rename = "c_NB")]
    cells: f64,
    #[serde(rename = "c_B*sqrt(NB)")]
    bits_root: f64,
    #[serde(rename = "c_B^2")]
    bits_squared: f64,
}

/// `constant + N·entries + B·bits + NB·cells`.
#[derive(Clone, Debug, Deserialize)]
struct CamPolynomial {
    quantity: Quantity,
    node_nm: u32,
    #[serde(rename = "c_1")]
    constant: f64,
    #[serde(rename = "c_N")]
    entries: f64,
    #[serde(rename = "c_B")]
    bits: f64,
    #[serde(rename = "c_NB")]
    cells: f64,
}

/// The polynomials of one port set.
#[derive(Clone, Debug)]
pub(super) struct ArrayFit {
    read_pj: ArrayPolynomial,
    write_pj: ArrayPolynomial,
    leakage_mw: ArrayPolynomial,
    area_mm2: ArrayPolynomial,
}

/// The polynomials of CAMs.
#[derive(Clone, Debug)]
pub(super) struct CamFit {
    search_pj: CamPolynomial,
    read_pj: CamPolynomial,
    write_pj: CamPolynomial,
    leakage_mw: CamPolynomial,
    area_mm2: CamPolynomial,
}

impl Files<'static> {
    /// The files that come with the program.
    pub const OURS: Files<'static> = Files {
        runs: ("cacti_sram.csv", include_str!("../../../technologies/cacti/cacti_sram.csv")),
        extrapolated: (
            "cacti_sram_extrapolated.csv",
            include_str!("../../../technologies/cacti/cacti_sram_extrapolated.csv"),
        ),
        array_fit: ("cacti_fit.csv", include_str!("../../../technologies/cacti/cacti_fit.csv")),
        cam_fit: ("cacti_fit_cam.csv", include_str!("../../../technologies/cacti/cacti_fit_cam.csv")),
    };
}

impl Files<'_> {
    /// The grid of a technology node.
    pub fn read(&self, node_nm: u32) -> Result<Grid, GridError> {
        let mut points: BTreeMap<Ports, BTreeMap<(u32, u32), Array>> = BTreeMap::new();
        for (file, origin) in [(self.runs, Origin::Runs), (self.extrapolated, Origin::Extrapolated)] {
            let rows = rows::<Run>(file)?;
            for run in rows.iter().filter(|run| run.node_nm == node_nm && run.kind == Kind::Ram) {
                let of_ports = points.entry(run.ports()).or_default();
                of_ports.insert((run.entries, run.bits_per_entry), run.array(origin));
            }
        }
        let fits = rows::<ArrayPolynomial>(self.array_fit)?;
        let of_ports = |(ports, points): (Ports, _)| {
            let find = |quantity| self.array_polynomial(&fits, quantity, node_nm, ports);
            let fit = ArrayFit {
                read_pj: find(Quantity::ReadPj)?,
                write_pj: find(Quantity::WritePj)?,
                leakage_mw: find(Quantity::LeakageMw)?,
                area_mm2: find(Quantity::AreaMm2)?,
            };
            Ok((ports, ArrayGrid::new(points, fit)))
        };
        let arrays = points.into_iter().map(of_ports).collect::<Result<_, GridError>>()?;
        Ok(Grid { node_nm, arrays, cam: self.cam_fit(node_nm)? })
    }

    fn array_polynomial(
        &self,
        fits: &[ArrayPolynomial],
        quantity: Quantity,
        node_nm: u32,
        ports: Ports,
    ) -> Result<ArrayPolynomial, GridError> {
        let name = ports.to_string();
        let is_wanted =
            |fit: &&ArrayPolynomial| fit.quantity == quantity && fit.node_nm == node_nm && fit.ports == name;
        let found = fits.iter().find(is_wanted).cloned();
        let what = || format!("no {quantity:?} of ports {name} at {node_nm} nm");
        found.ok_or_else(|| malformed(self.array_fit.0, what()))
    }

    fn cam_fit(&self, node_nm: u32) -> Result<CamFit, GridError> {
        let fits = rows::<CamPolynomial>(self.cam_fit)?;
        let find = |quantity| {
            let found = fits.iter().find(|fit| fit.quantity == quantity && fit.node_nm == node_nm).cloned();
            let what = || format!("no {quantity:?} at {node_nm} nm");
            found.ok_or_else(|| malformed(self.cam_fit.0, what()))
        };
        Ok(CamFit {
            search_pj: find(Quantity::SearchPj)?,
            read_pj: find(Quantity::ReadPj)?,
            write_pj: find(Quantity::WritePj)?,
            leakage_mw: find(Quantity::LeakageMw)?,
            area_mm2: find(Quantity::AreaMm2)?,
        })
    }
}

/// The rows of a file.
pub(super) fn rows<Row: DeserializeOwned>((name, text): File<'_>) -> Result<Vec<Row>, GridError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize().collect::<Result<_, csv::Error>>();
    rows.map_err(|error| malformed(name, error.to_string()))
}

fn malformed(origin: &str, message: String) -> GridError {
    GridError::Malformed { origin: origin.to_owned(), message }
}

impl Run {
    pub fn ports(&self) -> Ports {
        Ports { read: self.read_ports, write: self.write_ports, read_write: self.rw_ports }
    }

    pub fn array(&self, origin: Origin) -> Array {
        let &Run { read_pj, write_pj, leakage_mw, area_mm2, .. } = self;
        let cells = f64::from(self.entries) * f64::from(self.bits_per_entry);
        let gated_mw = self.leakage_mw_gated.unwrap_or_else(|| gated_mw(self.node_nm, cells, leakage_mw));
        Array { read_pj, write_pj, leakage_mw, gated_mw, area_um2: area_mm2 * UM2, origin }
    }
}

impl ArrayPolynomial {
    fn at(&self, entries: u32, bits: u32) -> f64 {
        let (n, b) = (f64::from(entries), f64::from(bits));
        let root = (n * b).sqrt();
        self.constant
            + self.entries * n
            + self.bits * b
            + self.root * root
            + self.cells * n * b
            + self.bits_root * b * root
            + self.bits_squared * b * b
    }
}

impl CamPolynomial {
    fn at(&self, entries: u32, bits: u32) -> f64 {
        let (n, b) = (f64::from(entries), f64::from(bits));
        self.constant + self.entries * n + self.bits * b + self.cells * n * b
    }
}

impl ArrayFit {
    pub fn array(&self, entries: u32, bits: u32) -> Array {
        let leakage_mw = self.leakage_mw.at(entries, bits);
        let cells = f64::from(entries) * f64::from(bits);
        Array {
            read_pj: self.read_pj.at(entries, bits),
            write_pj: self.write_pj.at(entries, bits),
            leakage_mw,
            gated_mw: gated_mw(self.leakage_mw.node_nm, cells, leakage_mw),
            area_um2: self.area_mm2.at(entries, bits) * UM2,
            origin: Origin::Fit,
        }
    }
}

impl CamFit {
    pub fn cam(&self, entries: u32, bits: u32) -> Cam {
        Cam {
            search_pj: self.search_pj.at(entries, bits),
            read_pj: self.read_pj.at(entries, bits),
            write_pj: self.write_pj.at(entries, bits),
            leakage_mw: self.leakage_mw.at(entries, bits),
            area_um2: self.area_mm2.at(entries, bits) * UM2,
        }
    }
}
