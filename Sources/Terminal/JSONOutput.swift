import FoundationEssentials

/// Values as JSON on standard output, all in one system of units.
///
/// In the programs a number carries its unit in its name, in whatever unit is exact there. What is printed knows one unit for each
/// kind of quantity: seconds and parts per million, as decimal numbers. Instants are strings (RFC 3339, UTC).
package enum JSONOutput {
    /// Endings of names, what takes their place, and how many of the unit one of the new unit has. Numbers below such a name, in an
    /// object or an array, are of its unit.
    private static let units: [(suffix: String, unit: String, divisor: Double)] = [
        ("Nanoseconds", "Seconds", 1e9), ("Milliseconds", "Seconds", 1e3),
        ("PartsPerBillion", "PPM", 1e3),
    ]

    /// Prints one value, keys sorted, for people and programs alike.
    package static func print(_ value: some Encodable) throws {
        Swift.print(try text(value))
    }

    /// A value as it is printed.
    package static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let plain = try JSONDecoder().decode(JSONValue.self, from: try encoder.encode(value))
        return String(decoding: try encoder.encode(converted(plain)), as: UTF8.self)
    }

    private static func converted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null, .flag, .integer, .unsigned, .number, .text: return value
        case .list(let values): return .list(values.map(converted))
        case .object(let members):
            var result: [String: JSONValue] = [:]
            for (name, member) in members {
                if let unit = units.first(where: { isOf(name, $0.suffix) }) {
                    let begin = name.dropLast(unit.suffix.count)
                    let key = begin.isEmpty ? unit.unit.lowercased() : begin + unit.unit
                    result[String(key)] = divided(member, by: unit.divisor)
                } else {
                    result[name] = converted(member)
                }
            }
            return .object(result)
        }
    }

    private static func isOf(_ name: String, _ suffix: String) -> Bool {
        name.hasSuffix(suffix) || name == suffix.prefix(1).lowercased() + suffix.dropFirst()
    }

    private static func divided(_ value: JSONValue, by divisor: Double) -> JSONValue {
        switch value {
        case .null, .flag, .text: value
        case .integer(let number): .number(Double(number) / divisor)
        case .unsigned(let number): .number(Double(number) / divisor)
        case .number(let number): .number(number / divisor)
        case .list(let values): .list(values.map { divided($0, by: divisor) })
        case .object(let members): .object(members.mapValues { divided($0, by: divisor) })
        }
    }
}

/// Any JSON.
private enum JSONValue: Codable {
    case null
    case flag(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = Self.read(Bool.self, container) {
            self = .flag(flag)
        } else if let number = Self.read(Int64.self, container) {
            self = .integer(number)
        } else if let number = Self.read(UInt64.self, container) {
            self = .unsigned(number)
        } else if let number = Self.read(Double.self, container) {
            self = .number(number)
        } else if let text = Self.read(String.self, container) {
            self = .text(text)
        } else if let values = Self.read([JSONValue].self, container) {
            self = .list(values)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// The value, if it is of that type.
    private static func read<Value: Decodable>(
        _ type: Value.Type, _ container: any SingleValueDecodingContainer
    ) -> Value? {
        do {
            return try container.decode(type)
        } catch {
            // Of another type: the next one is tried.
            return nil
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .integer(let number): try container.encode(number)
        case .unsigned(let number): try container.encode(number)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}
