use super::axis::Axis;
use super::cell::Cell;

/// The most cells of a grid.
pub const MOST_CELLS: usize = 1000;

/// Every combination of the values of some axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Its cells; the last axis changes first.
    pub cells: Vec<Cell>,
}

impl Grid {
    /// The grid of these axes.
    ///
    /// # Errors
    /// There are more than [`MOST_CELLS`], or two axes have the same key.
    pub fn of(axes: &[Axis]) -> Result<Self, String> {
        let size = axes
            .iter()
            .try_fold(1_usize, |size, axis| size.checked_mul(axis.values.len()));
        if size.is_none_or(|size| size > MOST_CELLS) {
            let size = size.map_or_else(|| "so many".to_owned(), |size| size.to_string());
            return Err(format!(
                "{size} settings are too many to play; at most {MOST_CELLS}, for example two keys with ten values"
            ));
        }
        if let Some((_, axis)) = axes
            .iter()
            .enumerate()
            .find(|(place, axis)| axes[..*place].iter().any(|other| other.key == axis.key))
        {
            return Err(format!(
                "--over {} is there twice; give all its values at once",
                axis.key
            ));
        }
        let mut cells = vec![Cell(Vec::new())];
        for axis in axes {
            let with = |cell: &Cell, value: &String| {
                let mut cell = cell.clone();
                cell.0.push((axis.key.clone(), value.clone()));
                cell
            };
            cells = cells
                .iter()
                .flat_map(|cell| axis.values.iter().map(|value| with(cell, value)).collect::<Vec<_>>())
                .collect();
        }
        Ok(Self { cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_keys_make_a_grid_and_a_million_cells_are_refused() {
        let axis = |text: &str| text.parse::<Axis>().expect("an axis");
        let grid = Grid::of(&[axis("ttl=1s,2s"), axis("rate=10/s,20/s,30/s")]).expect("a small grid");
        let cells: Vec<String> = grid.cells.iter().map(Cell::to_string).collect();
        assert_eq!(cells.len(), 6);
        assert_eq!(cells[..2], ["ttl 1s, rate 10/s", "ttl 1s, rate 20/s"]);
        let long = format!(
            "ttl={}",
            (1..=1000).map(|n| format!("{n}s")).collect::<Vec<_>>().join(",")
        );
        let other = long.replace("ttl", "rate");
        assert!(
            Grid::of(&[axis(&long), axis(&other)]).is_err_and(|line| line.contains("1000000 settings are too many"))
        );
        assert!(Grid::of(&[axis("ttl=1s"), axis("ttl=2s")]).is_err());
    }
}
