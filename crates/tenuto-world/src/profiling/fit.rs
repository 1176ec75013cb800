//! Least squares, by the normal equations.

/// Coefficients that bring `rows · x` nearest to `values`; `None` where the rows do not determine them.
pub(super) fn least_squares(rows: &[Vec<f64>], values: &[f64]) -> Option<Vec<f64>> {
    let width = rows.first()?.len();
    // Columns are brought to one size, so that bytes and entries weigh the same in the elimination.
    let scale: Vec<f64> = (0..width)
        .map(|column| rows.iter().map(|row| row[column].abs()).fold(0.0, f64::max))
        .collect();
    if scale.iter().any(|it| *it <= 0.0) {
        return None;
    }
    let mut matrix = vec![vec![0.0; width + 1]; width];
    for (row, value) in rows.iter().zip(values) {
        for i in 0..width {
            for j in 0..width {
                matrix[i][j] += row[i] / scale[i] * row[j] / scale[j];
            }
            matrix[i][width] += row[i] / scale[i] * value;
        }
    }
    let solved = eliminate(matrix)?;
    Some(solved.into_iter().zip(scale).map(|(x, scale)| x / scale).collect())
}

fn eliminate(mut matrix: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let width = matrix.len();
    for column in 0..width {
        let pivot = (column..width)
            .max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        if matrix[pivot][column].abs() < 1e-9 {
            return None;
        }
        matrix.swap(column, pivot);
        let from = matrix[column].clone();
        for (place, row) in matrix.iter_mut().enumerate() {
            if place != column {
                let factor = row[column] / from[column];
                row.iter_mut().zip(&from).for_each(|(to, from)| *to -= factor * from);
            }
        }
    }
    Some((0..width).map(|row| matrix[row][width] / matrix[row][row]).collect())
}

#[cfg(test)]
mod tests {
    use super::least_squares;

    #[test]
    fn a_line_is_found_again_and_a_missing_dimension_is_told() {
        let rows: Vec<Vec<f64>> = (0..9).map(|x| vec![1.0, f64::from(x) * 1e3]).collect();
        let values: Vec<f64> = rows.iter().map(|row| 7.0 + 0.25 * row[1]).collect();
        let found = least_squares(&rows, &values).expect("determined");
        assert!((found[0] - 7.0).abs() < 1e-6 && (found[1] - 0.25).abs() < 1e-9, "{found:?}");
        // A noisy line lies between its points.
        let noisy: Vec<f64> =
            values.iter().zip([1.0, -1.0].iter().cycle()).map(|(v, n)| v + n).collect();
        let found = least_squares(&rows, &noisy).expect("determined");
        assert!((found[0] - 7.0).abs() < 1.0, "{found:?}");
        let same: Vec<Vec<f64>> = (0..9).map(|_| vec![1.0, 2.0]).collect();
        assert_eq!(least_squares(&same, &values), None);
    }
}
