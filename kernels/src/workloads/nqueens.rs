//! Solutions of the puzzle row by row, each queen compared with all above it.

use super::reference::{Inputs, Outputs};

/// Boards that a block counts the solutions of together.
const BOARDS: usize = 96;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let [n, placed, boards] = ["n", "placed", "boards"].map(|name| inputs.size(name));
    let of_board = |board: usize| {
        let queens: Vec<usize> = (0..placed).map(|row| board / n.pow(row as u32) % n).collect();
        let is_valid = (0..placed).all(|row| is_free(&queens[..row], queens[row]));
        if is_valid { solutions(&mut queens.clone(), n) } else { 0 }
    };
    let counts: Vec<i32> = (0..boards).map(of_board).collect();
    let sums: Vec<i32> = counts.chunks(BOARDS).map(|block| block.iter().sum()).collect();
    Outputs::default().integers("solutions", &sums)
}

/// How many solutions begin with these queens, the columns of one a row.
fn solutions(queens: &mut Vec<usize>, n: usize) -> i32 {
    if queens.len() == n {
        return 1;
    }
    let mut count = 0;
    for column in 0..n {
        if is_free(queens, column) {
            queens.push(column);
            count += solutions(queens, n);
            queens.pop();
        }
    }
    count
}

/// Whether no queen attacks that column of the next row.
fn is_free(queens: &[usize], column: usize) -> bool {
    let row = queens.len();
    queens.iter().enumerate().all(|(above, &queen)| queen != column && queen.abs_diff(column) != row - above)
}

#[cfg(test)]
mod tests {
    use super::solutions;

    /// The numbers of solutions that are known.
    #[test]
    fn boards_have_as_many_solutions_as_they_are_known_to_have() {
        let counts = [4, 5, 6, 7, 8].map(|n| solutions(&mut Vec::new(), n));
        assert_eq!(counts, [2, 10, 4, 40, 92]);
    }
}
