import Foundation

/// Any JSON.
enum AnyJSON: Decodable, Hashable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([AnyJSON].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: AnyJSON].self))
        }
    }

    subscript(_ name: String) -> AnyJSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    var members: [String: AnyJSON] {
        guard case .object(let members) = self else { return [:] }
        return members
    }

    var elements: [AnyJSON] {
        guard case .list(let list) = self else { return [] }
        return list
    }

    var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }
}

/// The part of JSON Schema (draft 2020-12) that `proto/json/schema.json` uses; other keywords are an error.
struct JSONSchema {
    let root: AnyJSON

    /// The repository's schema.
    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "proto/json/schema.json")
        root = try JSONDecoder().decode(AnyJSON.self, from: Data(contentsOf: file))
    }

    var definitions: [String: AnyJSON] { root["$defs"]?.members ?? [:] }

    /// Violations of the definition, a line each.
    func flaws(_ value: AnyJSON, as definition: String) -> [String] {
        guard let schema = definitions[definition] else { return ["no definition \(definition)"] }
        return flaws(value, schema, at: "")
    }

    private func flaws(_ value: AnyJSON, _ schema: AnyJSON, at place: String) -> [String] {
        var found: [String] = []
        for (word, rule) in schema.members {
            switch word {
            case "description", "required", "additionalProperties": continue
            case "$ref":
                let name = String(rule.text?.dropFirst("#/$defs/".count) ?? "")
                guard let target = definitions[name] else { return ["\(place): no \(name)"] }
                found += flaws(value, target, at: place)
            case "type":
                let names = rule.text.map { [$0] } ?? rule.elements.compactMap(\.text)
                if !names.contains(where: { Self.isOf(value, $0) }) {
                    found.append("\(place): \(value) is no \(names.joined(separator: " or "))")
                }
            case "enum":
                if !rule.elements.contains(value) {
                    found.append("\(place): \(value) is not listed")
                }
            case "pattern":
                let isMatching =
                    value.text?.range(
                        of: rule.text ?? "", options: .regularExpression) != nil
                if !isMatching { found.append("\(place): \(value) has another form") }
            case "minimum":
                if case .number(let number) = value, case .number(let least) = rule, number < least
                {
                    found.append("\(place): \(number) is less than \(least)")
                }
            case "items":
                for (index, element) in value.elements.enumerated() {
                    found += flaws(element, rule, at: "\(place)[\(index)]")
                }
            case "properties": found += membersFlaws(value, rule.members, schema, at: place)
            default: found.append("\(place): the schema's '\(word)' is not known here")
            }
        }
        return found
    }

    private func membersFlaws(
        _ value: AnyJSON, _ properties: [String: AnyJSON], _ schema: AnyJSON, at place: String
    ) -> [String] {
        var found: [String] = []
        for name in schema["required"]?.elements.compactMap(\.text) ?? [] where value[name] == nil {
            found.append("\(place).\(name) is missing")
        }
        for (name, member) in value.members {
            if let rule = properties[name] {
                found += flaws(member, rule, at: "\(place).\(name)")
            } else {
                found.append("\(place).\(name) is not in the schema")
            }
        }
        return found
    }

    private static func isOf(_ value: AnyJSON, _ type: String) -> Bool {
        switch (value, type) {
        case (.null, "null"), (.flag, "boolean"), (.number, "number"), (.text, "string"),
            (.list, "array"), (.object, "object"):
            true
        case (.number(let number), "integer"): number == number.rounded()
        default: false
        }
    }
}
