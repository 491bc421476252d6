/// A row of an answer, text format. Everything in it comes from a server, so each access is checked.
package struct PostgreSQLRow: Sendable {
    private let values: [String?]

    init(_ values: [String?]) { self.values = values }

    private func value(_ column: Int) throws(PostgreSQLError) -> String? {
        guard values.indices.contains(column) else {
            throw .unexpected(reason: "\(values.count) columns where more are wanted")
        }
        return values[column]
    }

    /// A text that may be NULL.
    package func optionalText(_ column: Int) throws(PostgreSQLError) -> String? {
        try value(column)
    }

    package func text(_ column: Int) throws(PostgreSQLError) -> String {
        guard let text = try value(column) else {
            throw .unexpected(reason: "NULL in column \(column)")
        }
        return text
    }

    /// A `bigint` or smaller that may be NULL.
    package func optionalInteger(_ column: Int) throws(PostgreSQLError) -> Int64? {
        guard let text = try value(column) else { return nil }
        guard let integer = Int64(text) else {
            throw .unexpected(reason: "no integer in column \(column)")
        }
        return integer
    }

    package func integer(_ column: Int) throws(PostgreSQLError) -> Int64 {
        guard let integer = try optionalInteger(column) else {
            throw .unexpected(reason: "NULL in column \(column)")
        }
        return integer
    }

    package func boolean(_ column: Int) throws(PostgreSQLError) -> Bool {
        switch try text(column) {
        case "t": true
        case "f": false
        default: throw .unexpected(reason: "no boolean in column \(column)")
        }
    }
}

/// The answer to a statement.
package struct PostgreSQLAnswer: Sendable {
    package var rows: [PostgreSQLRow]
    /// How many rows the statement changed or returned.
    package var affected: Int
}
