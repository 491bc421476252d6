import CYAML

/// Parses the subset of YAML for configurations: a mapping to scalars, lists of scalars, and lists of such mappings.
///
/// libyaml parses (YAML 1.1); its events are checked one by one, so that anything else is rejected at its position.
enum YAMLMapping {
    private enum State {
        case start
        case name
        case value(of: String, line: Int)
        case list(of: String, line: Int, [String])
        /// Between two mappings of a list.
        case groups
        case end
    }

    /// The entries in order; a missing value is "".
    static func scalars(
        of bytes: [UInt8], path: String
    ) throws(ConfigurationError) -> [ConfigurationFile.Entry] {
        var parser = yaml_parser_t()
        guard yaml_parser_initialize(&parser) == 1 else {
            throw .malformed(path: path, line: 1, "out of memory")
        }
        defer { yaml_parser_delete(&parser) }
        // The parser refers to these bytes until it is deleted.
        return try bytes.withUnsafeBufferPointer { bytes throws(ConfigurationError) in
            yaml_parser_set_input_string(&parser, bytes.baseAddress, bytes.count)
            return try entries(&parser, path: path)
        }
    }

    private static func entries(
        _ parser: inout yaml_parser_t, path: String
    ) throws(ConfigurationError) -> [ConfigurationFile.Entry] {
        var entries: [ConfigurationFile.Entry] = []
        var place = State.start
        /// The list of mappings that is being read: the entries before it, and the mappings so far.
        var outer:
            (
                entries: [ConfigurationFile.Entry], name: String, line: Int,
                groups: [[ConfigurationFile.Entry]]
            )?
        while true {
            var event = yaml_event_t()
            guard yaml_parser_parse(&parser, &event) == 1 else {
                let problem = parser.problem.map { String(cString: $0) } ?? "it cannot be read"
                throw .malformed(path: path, line: parser.problem_mark.line + 1, problem)
            }
            defer { yaml_event_delete(&event) }
            let line = event.start_mark.line + 1
            switch (event.type, place) {
            case (YAML_STREAM_END_EVENT, _):
                return entries
            case (YAML_STREAM_START_EVENT, _), (YAML_DOCUMENT_END_EVENT, _):
                break
            case (YAML_DOCUMENT_START_EVENT, .start):
                break
            case (YAML_MAPPING_START_EVENT, .start):
                place = .name
            case (YAML_MAPPING_START_EVENT, .list(let name, let line, let values))
            where values.isEmpty && outer == nil:
                outer = (entries, name, line, [])
                entries = []
                place = .name
            case (YAML_MAPPING_START_EVENT, .groups):
                place = .name
            case (YAML_MAPPING_END_EVENT, .name) where outer != nil:
                outer?.groups.append(entries)
                entries = []
                place = .groups
            case (YAML_SEQUENCE_END_EVENT, .groups):
                guard let list = outer else { preconditionFailure("groups are in a list") }
                entries = list.entries
                entries.append(.init(name: list.name, groups: list.groups, line: list.line))
                outer = nil
                place = .name
            case (YAML_MAPPING_END_EVENT, .name):
                place = .end
            case (YAML_SCALAR_EVENT, .start) where text(of: event).isEmpty:
                // An empty document.
                place = .end
            case (YAML_SCALAR_EVENT, .name):
                place = .value(of: text(of: event), line: line)
            case (YAML_SCALAR_EVENT, .value(let name, let line)):
                entries.append(.init(name: name, value: value(of: event), line: line))
                place = .name
            case (YAML_SEQUENCE_START_EVENT, .value(let name, let line)):
                place = .list(of: name, line: line, [])
            case (YAML_SCALAR_EVENT, .list(let name, let line, let values)):
                place = .list(of: name, line: line, values + [value(of: event)])
            case (YAML_SEQUENCE_END_EVENT, .list(let name, let line, let values)):
                entries.append(.init(name: name, list: values, line: line))
                place = .name
            case (_, .list(let name, _, _)):
                throw .notPlain(
                    path: path, line: line, "a value of '\(name)' is not a single one")
            case (_, .value(let name, _)):
                throw .notPlain(path: path, line: line, "'\(name)' has more than one value")
            case (YAML_DOCUMENT_START_EVENT, .end):
                throw .notPlain(path: path, line: line, "a second document begins")
            default:
                throw .notPlain(path: path, line: line, "this is not a list of options")
            }
        }
    }

    private static func text(of event: yaml_event_t) -> String {
        let scalar = event.data.scalar
        return String(
            decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
    }

    /// A plain `~` or `null` is a missing value (YAML 1.1, "null").
    private static func value(of event: yaml_event_t) -> String {
        let text = text(of: event)
        let isPlain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE
        return isPlain && ["~", "null", "Null", "NULL"].contains(text) ? "" : text
    }
}
