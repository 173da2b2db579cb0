//! Control flow, barriers and exchange between lanes. What each opcode accepts is in `rules`.

use super::super::ast::RawOperand;
use super::super::error::Complaint;
use super::super::ir::{BarrierReduction, InstIndex, Op, Redux, Shuffle, Type, Vote};
use super::form::Form;
use super::kernel::Lowering;
use super::operand::{Fit, describe};

type Operands<'o, 'a> = &'o [RawOperand<'a>];
type Lowered = Result<(), Complaint>;

pub(super) fn shuffle<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let sync = form.flag("sync");
    let mode = form.require(&[
        ("up", Shuffle::Up),
        ("down", Shuffle::Down),
        ("bfly", Shuffle::Bfly),
        ("idx", Shuffle::Idx),
    ])?;
    let ty = form.ty(&[Type::B32, Type::U32, Type::S32, Type::F32])?;
    form.finish()?;
    let sources = 3 + usize::from(sync);
    Lowering::count(operands, sources + 1..=sources + 1)?;
    let dsts = lowering.result_pair(&operands[0], ty)?;
    let mut srcs = vec![lowering.source(&operands[1], ty, Fit::Exact)?];
    for operand in &operands[2..] {
        srcs.push(lowering.source(operand, Type::B32, Fit::Exact)?);
    }
    lowering.emit(Op::Shfl { mode, sync }, dsts, srcs, None);
    Ok(())
}

pub(super) fn vote<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let sync = form.flag("sync");
    let mode = form.require(&[
        ("all", Vote::All),
        ("any", Vote::Any),
        ("uni", Vote::Uni),
        ("ballot", Vote::Ballot),
    ])?;
    let ty = form.ty(if mode == Vote::Ballot { &[Type::B32] } else { &[Type::Pred] })?;
    form.finish()?;
    let sources: &[Type] = if sync { &[Type::Pred, Type::B32] } else { &[Type::Pred] };
    lowering.simple(Op::Vote { mode, sync }, operands, ty, sources)
}

pub(super) fn matching<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let all = form.require(&[("any", false), ("all", true)])?;
    form.require(&[("sync", ())])?;
    let ty = form.ty(&[Type::B32, Type::B64])?;
    form.finish()?;
    Lowering::count(operands, 3..=3)?;
    let dsts = if all {
        lowering.result_pair(&operands[0], Type::B32)?
    } else {
        vec![lowering.result(&operands[0], Type::B32, Fit::Exact)?]
    };
    let srcs = vec![
        lowering.source(&operands[1], ty, Fit::Exact)?,
        lowering.source(&operands[2], Type::B32, Fit::Exact)?,
    ];
    lowering.emit(Op::Match { ty, all }, dsts, srcs, None);
    Ok(())
}

pub(super) fn redux<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.require(&[("sync", ())])?;
    let op = form.require(&[
        ("add", Redux::Add),
        ("min", Redux::Min),
        ("max", Redux::Max),
        ("and", Redux::And),
        ("or", Redux::Or),
        ("xor", Redux::Xor),
    ])?;
    let ty = match op {
        Redux::Add | Redux::Min | Redux::Max => form.ty(&[Type::U32, Type::S32])?,
        Redux::And | Redux::Or | Redux::Xor => form.ty(&[Type::B32])?,
    };
    form.finish()?;
    lowering.simple(Op::Redux { ty, op }, operands, ty, &[ty, Type::B32])
}

pub(super) fn activemask<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&[Type::B32])?;
    form.finish()?;
    lowering.simple(Op::Activemask, operands, ty, &[])
}

pub(super) fn barrier<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.ignore(&["cta", "aligned"]);
    let warp = lowering.current.opcode() == "bar" && form.flag("warp");
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Sync,
        Arrive,
        Reduce,
    }
    let kind = form.require(&[("sync", Kind::Sync), ("arrive", Kind::Arrive), ("red", Kind::Reduce)])?;
    if kind == Kind::Reduce {
        return reduction(lowering, form, operands);
    }
    form.finish()?;
    let accepted = match (warp, kind) {
        (true, _) => 1..=1,
        (false, Kind::Arrive) => 2..=2,
        (false, Kind::Sync | Kind::Reduce) => 1..=2,
    };
    Lowering::count(operands, accepted)?;
    let srcs = operands
        .iter()
        .map(|operand| lowering.source(operand, Type::B32, Fit::Exact))
        .collect::<Result<Vec<_>, _>>()?;
    let op = match (warp, kind) {
        (true, _) => Op::WarpSync,
        (false, Kind::Arrive) => Op::BarrierArrive,
        (false, Kind::Sync | Kind::Reduce) => Op::Barrier,
    };
    lowering.emit(op, Vec::new(), srcs, None);
    Ok(())
}

fn reduction<'a>(lowering: &mut Lowering<'a, '_>, mut form: Form<'a>, operands: Operands<'_, 'a>) -> Lowered {
    let op = form.require(&[
        ("popc", BarrierReduction::Popc),
        ("and", BarrierReduction::And),
        ("or", BarrierReduction::Or),
    ])?;
    let ty = form.ty(if op == BarrierReduction::Popc { &[Type::U32] } else { &[Type::Pred] })?;
    form.finish()?;
    Lowering::count(operands, 3..=4)?;
    let dst = lowering.result(&operands[0], ty, Fit::Exact)?;
    let last = operands.len() - 1;
    let mut srcs = Vec::new();
    for operand in &operands[1..last] {
        srcs.push(lowering.source(operand, Type::B32, Fit::Exact)?);
    }
    srcs.push(lowering.source(&operands[last], Type::Pred, Fit::Exact)?);
    lowering.emit(Op::BarrierReduce { op }, vec![dst], srcs, None);
    Ok(())
}

pub(super) fn fence<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.ignore(&["cta", "gl", "sys", "gpu", "sc", "acq_rel"]);
    form.finish()?;
    Lowering::count(operands, 0..=0)?;
    lowering.emit(Op::Fence, Vec::new(), Vec::new(), None);
    Ok(())
}

/// The label an operand names, as a placeholder that is resolved at the end.
fn label(lowering: &mut Lowering<'_, '_>, name: &str) -> Result<InstIndex, Complaint> {
    lowering
        .frame()
        .label(name)
        .map(|label| InstIndex(label.0))
        .ok_or_else(|| format!("the label `{name}` is not defined in this function"))
}

pub(super) fn branch<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let uniform = form.flag("uni");
    form.finish()?;
    let [RawOperand::Name(name)] = operands else {
        return Err("the operand is not a label".to_owned());
    };
    let target = label(lowering, name)?;
    lowering.emit(Op::Bra { uniform, target }, Vec::new(), Vec::new(), None);
    Ok(())
}

pub(super) fn indexed_branch<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.require(&[("idx", ())])?;
    let uniform = form.flag("uni");
    form.finish()?;
    let [index, RawOperand::Name(name)] = operands else {
        return Err("the operands are not an index and a table".to_owned());
    };
    let labels = lowering
        .frame()
        .table(name)
        .ok_or_else(|| format!("`{name}` is not a .branchtargets list of this function"))?;
    let targets = labels.iter().map(|name| label(lowering, name)).collect::<Result<Vec<_>, _>>()?;
    let src = lowering.source(index, Type::U32, Fit::Exact)?;
    lowering.emit(Op::Brx { uniform, targets }, Vec::new(), vec![src], None);
    Ok(())
}

pub(super) fn exit<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.ignore(&["uni"]);
    form.finish()?;
    if let Some(operand) = operands.first() {
        return Err(format!("found {}; accepted: no operand", describe(operand)));
    }
    let end = lowering.frame().end.filter(|_| lowering.current.opcode() == "ret");
    if let Some(end) = end {
        let guard = lowering.take_guard();
        lowering.emit_branch(guard, end);
    } else {
        lowering.emit(Op::Exit, Vec::new(), Vec::new(), None);
    }
    Ok(())
}

pub(super) fn trap<'a>(
    lowering: &mut Lowering<'a, '_>,
    form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.finish()?;
    Lowering::count(operands, 0..=0)?;
    lowering.emit(Op::Trap, Vec::new(), Vec::new(), None);
    Ok(())
}
