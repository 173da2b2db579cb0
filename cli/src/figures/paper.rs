//! Charts for a paper: SVG, and PDF by rsvg-convert.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::chart::Chart;
use super::svg::{self, PaperWidth, Sheet};
use crate::files::Output;

/// What makes PDF of SVG: librsvg's, which embeds the fonts that it uses.
const CONVERTER: &str = "rsvg-convert";

/// Which files are drawn, and how.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PaperArguments {
    /// Write the charts of one figure to this file, for a paper.
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// The same as PDF, by rsvg-convert of librsvg.
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// How wide these are.
    #[arg(long, value_enum, default_value_t)]
    width: PaperWidth,
    /// What stands above their charts; nothing if it is not given, as a paper says it below.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

/// Files that have been started.
#[derive(Default)]
pub struct Drawings {
    svg: Option<Output>,
    pdf: Option<Output>,
}

impl PaperArguments {
    /// Whether one drawing is asked of so many figures.
    pub fn check(&self, figures: usize) -> Result<()> {
        let asked = [("--svg", &self.svg), ("--pdf", &self.pdf)];
        let Some((option, path)) =
            asked.into_iter().find_map(|(option, path)| Some((option, path.as_ref()?)))
        else {
            if self.title.is_some() {
                bail!("--title: accepted: with --svg or --pdf");
            }
            return Ok(());
        };
        if figures > 1 {
            bail!(
                "{option} {} takes one figure, there are {figures}; --out keeps the charts of several",
                path.display()
            );
        }
        Ok(())
    }

    /// Starts the files, and finds out what is missing for them.
    ///
    /// # Errors
    /// One cannot be written, or there is nothing that makes PDF.
    pub fn create(&self) -> Result<Drawings> {
        let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
        let drawings = Drawings { svg: create(&self.svg)?, pdf: create(&self.pdf)? };
        if let Some(pdf) = &self.pdf {
            check_converter(pdf)?;
        }
        Ok(drawings)
    }

    /// Draws the charts.
    ///
    /// # Errors
    /// A file cannot be written, or the PDF cannot be made.
    pub fn draw(&self, charts: &[Chart], drawings: Drawings) -> Result<()> {
        let svg = svg::draw(Sheet::paper(self.width, self.title.as_deref()), charts);
        if let Some(mut file) = drawings.pdf {
            convert(&svg, &mut file)?;
            file.publish()?;
        }
        if let Some(mut file) = drawings.svg {
            file.write(&svg)?;
            file.publish()?;
        }
        Ok(())
    }
}

fn check_converter(pdf: &Path) -> Result<()> {
    let started = Command::new(CONVERTER).arg("--version").stdin(Stdio::null()).output();
    match started {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "--pdf {}: there is no {CONVERTER} here (Debian's librsvg2-bin); --svg FILE is made without it",
            pdf.display()
        ),
        Err(error) => Err(error).with_context(|| format!("{CONVERTER} cannot be started")),
    }
}

fn convert(svg: &str, pdf: &mut Output) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot keep the drawing for the PDF")?;
    let drawing = folder.path().join("figure.svg");
    std::fs::write(&drawing, svg).context("cannot keep the drawing for the PDF")?;
    let file = pdf.file().try_clone().context("cannot write the PDF")?;
    let made = Command::new(CONVERTER)
        .args(["--format=pdf", "--"])
        .arg(&drawing)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::piped())
        .output();
    let made = made.with_context(|| format!("{CONVERTER} cannot be started"))?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr);
        bail!("{}: {CONVERTER} has failed: {}", pdf.path().display(), said.trim());
    }
    Ok(())
}
