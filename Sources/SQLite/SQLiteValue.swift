/// A value for a statement's parameter.
package enum SQLiteValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)

    package init(_ integer: Int64?) { self = integer.map(Self.integer) ?? .null }
    package init(_ text: String?) { self = text.map(Self.text) ?? .null }
    package init(_ boolean: Bool) { self = .integer(boolean ? 1 : 0) }
}

extension SQLiteValue: CustomStringConvertible {
    /// Texts in quotation marks, as Swift writes them; `NULL`.
    package var description: String {
        switch self {
        case .null: "NULL"
        case .integer(let integer): "\(integer)"
        case .text(let text): String(reflecting: text)
        }
    }
}
