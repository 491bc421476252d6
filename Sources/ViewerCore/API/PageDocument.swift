/// HTML documents of the page, one per view, with the list of modules that the view imports.
///
/// Without the list, a browser requests imported modules level by level, one round trip after another.
enum PageDocument: CaseIterable {
    case live
    case calendar
    case sessions
    case playback
    case health
    case account
    case embed

    /// The module that `main.js` loads for this view.
    var module: String {
        switch self {
        case .live: "live.js"
        case .calendar: "calendar.js"
        case .sessions: "sessions.js"
        case .playback: "playback.js"
        case .health: "health.js"
        case .account: "account.js"
        case .embed: "embed.js"
        }
    }

    /// The HTML around the page's content.
    private var template: String { self == .embed ? "embed.html" : "index.html" }

    /// The script that the HTML loads.
    private var entry: String { self == .embed ? "embed.js" : "main.js" }

    /// - Parameter path: one that ``PageAPI/isOpen(_:)`` answers with the page.
    init(path: String) {
        switch path.split(separator: "/").first {
        case "sessions": self = path.split(separator: "/").count > 1 ? .playback : .sessions
        case "calendar": self = .calendar
        case "health": self = .health
        case "account": self = .account
        case "embed": self = .embed
        default: self = .live
        }
    }

    /// By view.
    static let files: [PageDocument: StaticFile] = Dictionary(
        uniqueKeysWithValues: allCases.map {
            ($0, StaticFile($0.bytes, contentType: PageFile.Kind.html.rawValue))
        })

    private var bytes: [UInt8] {
        let text = String(decoding: PageFile.all[template]?.bytes ?? [], as: UTF8.self)
        guard let place = text.firstRange(of: Self.script)?.lowerBound else {
            preconditionFailure("\(template) has no module script")
        }
        let links = Self.modules(from: entry == module ? [entry] : [entry, module]).map {
            "<link rel=\"modulepreload\" href=\"/page/\($0)\">\n"
        }
        return Array("\(text[..<place])\(links.joined())\(text[place...])".utf8)
    }

    private static let script = "<script type=\"module\""

    /// These modules and all that they import, each once.
    static func modules(from entries: [String]) -> [String] {
        var found = entries
        var next = 0
        while next < found.count {
            for name in imports(of: PageFile.all[found[next]]?.bytes ?? [])
            where !found.contains(name) {
                found.append(name)
            }
            next += 1
        }
        return found
    }

    /// A module's static imports: `import … from './NAME'`, but not `import('./NAME')`.
    private static func imports(of bytes: [UInt8]) -> [String] {
        let mark = " from './"
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard line.starts(with: "import ".utf8) || line.starts(with: "} from".utf8) else {
                return nil
            }
            let text = String(decoding: line, as: UTF8.self)
            guard let start = text.firstRange(of: mark)?.upperBound else { return nil }
            return String(text[start...].prefix { $0 != "'" })
        }
    }
}
