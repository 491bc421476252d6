import Foundation
import Testing

/// The table of modules in `docs/development.md`.
struct ModuleMap {
    /// Level by module; `C` counts as −1.
    let levels: [String: Int]
    /// Modules that more than one row names.
    let repeated: [String]

    init() throws {
        var levels: [String: Int] = [:]
        var repeated: [String] = []
        for line in try Repository.text("docs/development.md").split(separator: "\n") {
            let cells = line.split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard cells.count == 3, cells[1].hasPrefix("`"), cells[1].hasSuffix("`") else {
                continue
            }
            let name = cells[1].trimmingCharacters(in: CharacterSet(charactersIn: "`"))
            guard let level = cells[0] == "C" ? -1 : Int(cells[0]) else { continue }
            if levels.updateValue(level, forKey: name) != nil { repeated.append(name) }
        }
        self.levels = levels
        self.repeated = repeated
    }
}

@Suite struct MapTests {
    @Test func `the table of modules names every module once`() throws {
        let map = try ModuleMap()
        #expect(map.repeated.isEmpty)
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appending(path: "Sources").path)
        #expect(Set(map.levels.keys) == Set(folders.filter { !$0.hasPrefix(".") }))
    }

    @Test func `modules import lower levels only`() throws {
        let map = try ModuleMap()
        #expect(map.levels.count > 10)
        for path in Repository.files(below: "Sources") where path.hasSuffix(".swift") {
            let module = String(path.split(separator: "/")[1])
            let level = try #require(map.levels[module])
            for line in try Repository.text(path).split(separator: "\n") {
                let words = line.split(separator: " ")
                guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
                    words[..<place].allSatisfy({
                        ["package", "public", "internal", "@testable"].contains($0)
                    }),
                    let imported = map.levels[String(words[place + 1])]
                else { continue }
                #expect(imported < level, "\(path) imports \(words[place + 1])")
            }
        }
    }

    @Test func `the table of changes names existing files`() throws {
        let page = try Repository.text("docs/development.md")
        let changes = try #require(page.components(separatedBy: "## Where a change belongs").last)
        let tables = changes + (try Repository.text("docs/codecs.md"))
        var count = 0
        for match in tables.matches(of: /`([^`\s]*\/[^`\s]*)`/) {
            let path = String(match.1)
            count += 1
            #expect(Repository.has("Sources/\(path)") || Repository.has(path), "\(path)")
        }
        #expect(count > 40)
    }

    @Test func `each command of the agent's program has a manual page`() throws {
        let table =
            try Repository.text("Sources/tributary-agent/AgentCommand.swift")
            .components(separatedBy: "private static let commands").last ?? ""
        let names = table.components(separatedBy: "]\n")[0].matches(of: /\("(\w+)",/).map { $0.1 }
        #expect(names.count > 3)
        let manual = try Repository.text("deploy/manual")
        #expect(
            manual.contains(
                "\"tributary-agent\": [\(names.map { "\"\($0)\"" }.joined(separator: ", "))]"))
    }

    @Test func `the collector's table of threads names every thread that it starts`() throws {
        let page = try Repository.text("Sources/CollectorCore/CollectorCore.docc/CollectorCore.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("|") }
        let listed = Set(rows.flatMap { $0.split(separator: "|")[0].split(separator: "`") })
        var started: Set<Substring> = []
        for module in ["CollectorCore", "Control", "Uploading", "OperationsServer"] {
            for path in Repository.files(below: "Sources/\(module)") where path.hasSuffix(".swift")
            {
                for line in try Repository.text(path).split(separator: "\n")
                where line.contains("hread.start(") {
                    let pieces = line.split(separator: "\"", omittingEmptySubsequences: false)
                    for index in stride(from: 1, to: pieces.count, by: 2) {
                        started.insert(pieces[index])
                    }
                }
            }
        }
        #expect(started.count >= 10)
        #expect(started.subtracting(listed) == [])
    }

    @Test func `every member of printed JSON that has a unit is named in the sources`() throws {
        var documented: Set<Substring> = []
        for path in ["proto/json/schema.json", "proto/openapi.yaml"] {
            for line in try Repository.text(path).split(separator: "\n") {
                let name = line.prefix { $0 != ":" }.drop { " \"".contains($0) }
                    .prefix { $0.isLetter || $0.isNumber }
                if name.hasSuffix("Seconds") || name.hasSuffix("PPM") { documented.insert(name) }
            }
        }
        #expect(documented.count > 30)
        for path in Repository.files(below: "Sources") where path.hasSuffix(".swift") {
            let words = try Repository.text(path).split { !$0.isLetter && !$0.isNumber }
            documented.subtract(words)
        }
        #expect(documented == [])
    }

    /// All modules that a module imports, directly or through others.
    private func imports(of module: String) throws -> Set<String> {
        let modules = try ModuleMap().levels
        var found: Set<String> = []
        var pending = [module]
        while let next = pending.popLast() {
            for path in Repository.files(below: "Sources/\(next)") where path.hasSuffix(".swift") {
                for line in try Repository.text(path).split(separator: "\n") {
                    let words = line.split(separator: " ").map(String.init)
                    guard let name = words.last, words.dropLast().last == "import",
                        modules[name] != nil, found.insert(name).inserted
                    else { continue }
                    pending.append(name)
                }
            }
        }
        return found
    }

    @Test func `exporting needs no database`() throws {
        let databases: Set = ["CSQLite", "CPostgreSQL", "SQLite", "PostgreSQL", "Catalog"]
        #expect(try imports(of: "ExportCore").isDisjoint(with: databases))
        #expect(try imports(of: "Library").isSuperset(of: databases))
        // Terminals need no JSON of reports, and reports no terminal.
        #expect(try imports(of: "JSON").isEmpty)
    }

    @Test func `no module declares a type with the module's name`() throws {
        for (module, _) in try ModuleMap().levels {
            let name = module.replacing("-", with: "")
            for path in Repository.files(below: "Sources/\(module)") where path.hasSuffix(".swift")
            {
                for line in try Repository.text(path).split(separator: "\n") {
                    let words = line.split { " :<{(".contains($0) }
                    let kinds = ["struct", "class", "enum", "actor", "protocol", "typealias"]
                    for (kind, declared) in zip(words, words.dropFirst()) where declared == name {
                        #expect(!kinds.contains(String(kind)), "\(path): \(line)")
                    }
                }
            }
        }
    }

    @Test func `the top folder contains only the allowed names`() throws {
        let allowed: Set = [
            "Package.swift", "Package.resolved", "Sources", "Tests", "deploy", "proto",
            "README.md", "LICENSE", "CHANGELOG.md", "docs", "recordings",
        ]
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path)
        #expect(Set(names.filter { !$0.hasPrefix(".") }).subtracting(allowed).isEmpty)
    }
}

@Suite struct DocumentTests {
    @Test func `links in documents lead somewhere`() throws {
        var count = 0
        let documents =
            ["README.md", "CHANGELOG.md"]
            + ["Sources", "Tests", "deploy", "docs", "proto"].flatMap(Repository.files(below:))
            .filter { $0.hasSuffix(".md") }
        for path in documents {
            let folder = path.split(separator: "/").dropLast().joined(separator: "/")
            // `[text](target#part)`: the text from "](" up to ")".
            for piece in try Repository.text(path).components(separatedBy: "](").dropFirst() {
                let target = String(piece.prefix { $0 != ")" && $0 != "#" })
                if target.isEmpty || target.contains(" ") { continue }
                if target.hasPrefix("http") || target.hasPrefix("doc:") { continue }
                let place = folder.isEmpty ? target : "\(folder)/\(target)"
                #expect(Repository.has(place), "\(path): \(target)")
                count += 1
            }
        }
        #expect(count > 5)
    }

    @Test func `options in README and docs exist`() throws {
        let pages = try (["README.md"] + Repository.files(below: "docs"))
            .filter { $0.hasSuffix(".md") }.map(Repository.text).joined()
        let sources = try Repository.files(below: "Sources").filter { $0.hasSuffix(".swift") }
            .map(Repository.text).joined()
        let scripts = try Repository.files(below: "deploy").map(Repository.text).joined()
        for piece in pages.components(separatedBy: "--").dropFirst() {
            let option = String(piece.prefix { $0.isLowercase || $0 == "-" })
            guard option.first?.isLowercase == true else { continue }
            let name = option.split(separator: "-").enumerated().map { index, word in
                index == 0 ? String(word) : word.prefix(1).uppercased() + word.dropFirst()
            }.joined()
            let isKnown =
                sources.contains("var \(name)") || scripts.contains("*:--\(option))")
                || ["help", "version"].contains(option)
            #expect(isKnown, "--\(option)")
        }
    }
}

@Suite struct FileSizeTests {
    /// Files over the length limit, each with its reason.
    private static let exceptions: [String: String] = [
        "Sources/CollectorCore/CollectorEngine.swift":
            "what a collector decides is one value: every input changes the same protocol, session and counters",
        "Sources/CollectorCore/Session/SessionRecorder.swift":
            "one state machine: what is held for zero, who has a place and what has ended share their state",
        "Sources/CollectorCore/Session/SourceRecorder.swift":
            "what is recorded of a source, held elsewhere, missing and twice changes one account of its numbers",
        "Sources/AgentCore/Uplink/Delivery.swift":
            "all that befalls an agent's spools changes the same senders, which nobody else may",
        "Sources/CollectorCore/Disk/DiskWorker.swift":
            "every job, commit and retry of the archive's files changes the same open files and backlogs",
        "Sources/Wire/AgentLink/AgentLink.swift":
            "every message of a connection changes the same state, cursors and pauses",
        "Tests/SimulationTests/Group/GroupSimulation.swift":
            "boxes, collectors, both of a box's connections and what befalls them share one time and one chance",
        "Tests/SimulationTests/SystemSimulation.swift":
            "boxes, network, collector, store and what befalls them share one time and one chance",
        "Sources/Archive/Writing/Segmenter.swift":
            "every rule of where a file ends works on the same open, closing and waiting files",
        "Tests/CollectorCoreTests/ResumptionTests.swift":
            "every way in which a session goes on after its collector ended uses the same stage of two collectors",
        "Tests/RepositoryTests/PageSentences.swift":
            "one table: every sentence of the page, below what it is derived from",
        "Sources/Recordings/Merging/MergedStore.swift":
            "every file of a merged session is found by the same copies, choices and caches",
        "Tests/EndToEndTests/ViewerTests.swift":
            "one suite of the viewer's addresses, which share its stage and its recording",
        "Sources/RTSP/Session/CameraSession.swift":
            "every request, answer and packet of a connection changes the same state",
        "Tests/AgentCoreTests/Uplink/MirrorTests.swift":
            "every fault of one of two collectors is tested on the same agent with both",
        "Tests/LibraryTests/MergedStoreTests.swift":
            "every rule of reading two archives is tested on the same recording, divided between them",
    ]
    private static let longest = 600

    @Test func `source files longer than the limit are listed with a reason`() throws {
        for path in ["Sources", "Tests"].flatMap(Repository.files(below:))
        where path.hasSuffix(".swift") && !path.hasSuffix(".pb.swift") {
            let lines = try Repository.text(path).split(
                separator: "\n", omittingEmptySubsequences: false
            ).count
            #expect(
                lines <= Self.longest || Self.exceptions[path] != nil, "\(path): \(lines) lines")
        }
    }

    @Test func `the repository speaks of the project alone`() throws {
        let texts = ["Sources", "Tests", "deploy", "docs", "proto"].flatMap(
            Repository.files(below:)
        )
        .filter { !$0.hasSuffix(".pb.swift") && !$0.hasPrefix("Tests/RepositoryTests") }
        for path in texts + ["README.md", "CHANGELOG.md", "Package.swift"] {
            guard let text = try? Repository.text(path) else { continue }  // not text
            for word in ["/work/", "TODO", "FIXME", "/opt/swift"] {
                #expect(!text.contains(word), "\(path) contains \(word)")
            }
        }
    }
}
