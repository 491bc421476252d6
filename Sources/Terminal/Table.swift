/// Rows of text in aligned columns.
package struct Table {
    private let header: [String]
    private var rows: [[String]] = []
    private let rightAligned: Set<Int>

    /// - Parameter rightAligned: columns (from 0) with numbers.
    package init(_ header: [String], rightAligned: Set<Int> = []) {
        self.header = header
        self.rightAligned = rightAligned
    }

    package mutating func add(_ row: [String]) {
        precondition(row.count == header.count, "a row has as many cells as its header")
        rows.append(row)
    }

    /// The table's lines, without trailing blanks.
    package func lines() -> [String] {
        let all = [header] + rows
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            var line = row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return rightAligned.contains(column) ? space + row[column] : row[column] + space
            }.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
