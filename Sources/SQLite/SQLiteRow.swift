import CSQLite

/// The current row of a statement. The file is untrusted, so each access is checked: SQLite does not enforce declared column
/// types.
package struct SQLiteRow: ~Copyable {
    private let statement: OpaquePointer
    private let columns: Int32

    /// Valid until the statement's next step.
    init(_ statement: OpaquePointer) {
        self.statement = statement
        columns = sqlite3_data_count(statement)
    }

    /// Number of columns.
    package var count: Int { Int(columns) }

    /// Approximate memory of its values, bytes.
    var sizeBytes: Int {
        // Empty values count, because a row has a cost.
        (0..<columns).reduce(32) { sum, column in
            let type = sqlite3_column_type(statement, column)
            let isLong = type == SQLITE_TEXT || type == SQLITE_BLOB
            return sum + 16 + (isLong ? Int(sqlite3_column_bytes(statement, column)) : 0)
        }
    }

    /// The name of a column in the statement.
    package func name(_ column: Int) throws(SQLiteError) -> String {
        guard (0..<count).contains(column), let name = sqlite3_column_name(statement, Int32(column))
        else { throw .unexpected(reason: "no column \(column)") }
        return String(cString: name)
    }

    package func value(_ column: Int) throws(SQLiteError) -> SQLiteValue {
        guard (0..<count).contains(column) else {
            throw .unexpected(reason: "\(count) columns where more are wanted")
        }
        let column = Int32(column)
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: return .null
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_TEXT:
            // In this order: the first call may move the text.
            let start = sqlite3_column_text(statement, column)
            let length = Int(sqlite3_column_bytes(statement, column))
            guard let start else { throw .unexpected(reason: "no memory for column \(column)") }
            let bytes = UnsafeBufferPointer(start: start, count: length)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw .unexpected(reason: "no UTF-8 in column \(column)")
            }
            return .text(text)
        default: throw .unexpected(reason: "neither integer nor text in column \(column)")
        }
    }

    /// A text that may be NULL.
    package func optionalText(_ column: Int) throws(SQLiteError) -> String? {
        switch try value(column) {
        case .null: return nil
        case .text(let text): return text
        case .integer: throw .unexpected(reason: "no text in column \(column)")
        }
    }

    package func text(_ column: Int) throws(SQLiteError) -> String {
        guard let text = try optionalText(column) else {
            throw .unexpected(reason: "NULL in column \(column)")
        }
        return text
    }

    /// An integer that may be NULL.
    package func optionalInteger(_ column: Int) throws(SQLiteError) -> Int64? {
        switch try value(column) {
        case .null: return nil
        case .integer(let integer): return integer
        case .text: throw .unexpected(reason: "no integer in column \(column)")
        }
    }

    package func integer(_ column: Int) throws(SQLiteError) -> Int64 {
        guard let integer = try optionalInteger(column) else {
            throw .unexpected(reason: "NULL in column \(column)")
        }
        return integer
    }

    /// An integer that cannot be negative.
    package func count(_ column: Int) throws(SQLiteError) -> Int64 {
        let integer = try integer(column)
        guard integer >= 0 else { throw .unexpected(reason: "\(integer) in column \(column)") }
        return integer
    }

    package func boolean(_ column: Int) throws(SQLiteError) -> Bool {
        switch try integer(column) {
        case 0: false
        case 1: true
        default: throw .unexpected(reason: "no boolean in column \(column)")
        }
    }
}
