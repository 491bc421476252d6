import AgentCore
import ArgumentParser
import Files
import Glibc
import Messaging
import Terminal
import Trust
import Wire

/// `tributary-agent enrol`: connects this box to a server, with one line from there.
struct EnrolCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrol", _superCommandName: "tributary-agent",
        abstract:
            "Connects this box to a server, with the line printed there by 'tributary keys enrol'.",
        discussion: """
            Generates a key for this box if it has none, has the server authorise it, and writes the collector's address and public key, the \
            key directory and the source name to the configuration file. A line with several collectors enrols the box with each. Other options in the file are kept. Without LINE, or with '-', the \
            line is read from standard input, so that no other process can see it. A line is valid once; the same box may repeat the command, \
            which writes the same values again.
            """)

    private static let systemDirectory = "/etc/tributary"

    @Argument(help: "The enrolment line; - for standard input.")
    var line: String?

    @Option(
        help: ArgumentHelp(
            """
            Configuration file to write. (default: /etc/tributary/agent.yaml, or one /etc/tributary/agents/SOURCE.yaml for each of several \
            sources; below ~/.config/tributary for users other than root)
            """, valueName: "file"))
    var file: String?

    @Option(
        help: ArgumentHelp(
            "Key directory of this box. (default: the one in the configuration, or /var/lib/tributary-agent/keys)",
            valueName: "dir"))
    var keys: String?

    func run() throws {
        let line = try readLine()
        let directory = try file.map(Path.directory) ?? configurationDirectory()
        let usual = file ?? "\(directory)/agent.yaml"
        // Everything else is checked before the line is used, because it can be used only once.
        let keyDirectory = try self.keyDirectory(configuration: usual)
        try check(usual, line, keyDirectory)
        let key: SecretKey
        do {
            key = try keyDirectory.ownKey() ?? keyDirectory.makeOwnKey()
        } catch let error as TrustError {
            throw Failure("\(error)")
        }
        let (enrolled, failures) = try enrol(line, key)
        let files = try write(enrolled, line, keyDirectory, into: directory)
        tell(enrolled, keyDirectory, files)
        if let first = failures.first {
            throw Failure(
                "enrolled with \(line.endpoints.count - failures.count) of \(line.endpoints.count) collectors: \(first); fix that, and run "
                    + "the same command again")
        }
    }

    /// Enrols with each collector of the line, in order.
    /// - Returns: the first response, and the reasons for which others could not be reached.
    /// - Throws: if no collector enrols the box.
    private func enrol(
        _ line: EnrolmentLine, _ key: SecretKey
    ) throws -> (Enrolled, failures: [EnrolmentError]) {
        var enrolled: Enrolled?
        var failures: [EnrolmentError] = []
        for single in line.single {
            let enroller = Enroller(
                line: single, key: key, software: Version.software("tributary-agent"),
                agent: SourceNames.ofThisMachine())
            do throws(EnrolmentError) {
                let answer = try enroller.run()
                enrolled = enrolled ?? answer
            } catch {
                failures.append(error)
            }
        }
        if let enrolled { return (enrolled, failures) }
        let error = failures.first { $0.isRefused } ?? failures[0]
        throw Failure(
            "\(error)", exitStatus: error.isRefused ? ExitStatus.refused : ExitStatus.failure)
    }

    // MARK: The line

    private func readLine() throws -> EnrolmentLine {
        let text: String
        if let line, line != "-" {
            ProcessArguments.hide(line)
            text = line
        } else {
            if isatty(0) == 1 {
                Console().tell("Paste the line printed by 'tributary keys enrol':")
            }
            text = Swift.readLine() ?? ""
        }
        do throws(TrustError) {
            return try EnrolmentLine(text)
        } catch {
            throw UsageError("\(error)")
        }
    }

    // MARK: Directories

    private func configurationDirectory() throws -> String {
        if geteuid() == 0 { return Self.systemDirectory }
        let base = getenv("XDG_CONFIG_HOME").map { String(cString: $0) }
        if let base, base.hasPrefix("/") { return "\(base)/tributary" }
        guard let home = getenv("HOME") else {
            throw UsageError("HOME is not set: give the file to write with --file")
        }
        return "\(String(cString: home))/.config/tributary"
    }

    private func keyDirectory(configuration path: String) throws -> KeyDirectory {
        if let keys { return KeyDirectory(try Self.wholePath(of: keys)) }
        do {
            if access(path, F_OK) == 0,
                let entry = try ConfigurationFile(path: path).entries.first(where: {
                    $0.name == "keys"
                })
            {
                return KeyDirectory(entry.value)
            }
            if geteuid() == 0 { return KeyDirectory("\(KeepingOptions.systemDirectory)/keys") }
            return try .standard()
        } catch let error as ConfigurationError {
            throw Failure("\(error)")
        } catch let error as TrustError {
            throw Failure("\(error)")
        }
    }

    /// An absolute path for the configuration, which is valid in any working directory.
    private static func wholePath(of path: String) throws -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let current = getcwd(nil, 0) else {
            throw Failure("cannot resolve \(path): give an absolute path")
        }
        defer { free(current) }
        let directory = String(cString: current)
        return directory == "/" ? "/\(path)" : "\(directory)/\(path)"
    }

    /// Checks that the options can be added to a configuration file, and that it can be written.
    private func check(_ path: String, _ line: EnrolmentLine, _ keys: KeyDirectory) throws {
        do throws(ConfigurationError) {
            // The later settings, without the source's name, which the server assigns.
            _ = try Self.text(for: Written(path: path, source: "source"), line, keys)
        } catch {
            throw Failure("cannot add options to \(path): \(error)")
        }
        let place = access(path, F_OK) == 0 ? path : Path.directory(of: path)
        guard access(place, W_OK) == 0 || errno == ENOENT else {
            throw Failure(
                "cannot write \(path): \(systemMessage(errno)); run this with sudo, or give another --file"
            )
        }
    }

    // MARK: The configuration

    /// A configuration that was written, and its source if that is known.
    private struct Written {
        var path: String
        var source: String?
    }

    private func write(
        _ enrolled: Enrolled, _ line: EnrolmentLine, _ keys: KeyDirectory, into directory: String
    ) throws -> [Written] {
        let whole = enrolled.sources.map(\.description).filter { !$0.hasSuffix("*") }
        let files: [Written]
        if file == nil, whole.count > 1 {
            files = whole.map { Written(path: "\(directory)/agents/\($0).yaml", source: $0) }
        } else {
            let right = WritingRight(name: enrolled.name, sources: enrolled.sources)
            let own = [enrolled.name, SourceNames.ofThisMachine()].first(where: right.covers)
            files = [
                Written(path: file ?? "\(directory)/agent.yaml", source: whole.first ?? own)
            ]
        }
        do throws(ConfigurationError) {
            for file in files {
                let text = try Self.text(for: file, line, keys)
                try ConfigurationText.makeDirectory(for: file.path)
                try text.write(to: file.path)
            }
        } catch {
            throw Failure(
                "this box is enrolled, but \(error); fix that and run the same command again")
        }
        return files
    }

    /// A configuration with the connection's options.
    private static func text(
        for file: Written, _ line: EnrolmentLine, _ keys: KeyDirectory
    ) throws(ConfigurationError) -> ConfigurationText {
        var text =
            try ConfigurationText(path: file.path)
            ?? ConfigurationText(
                """
                # Options of tributary-agent(1), one line 'name: value' for each. Written by 'tributary-agent enrol'.
                video: first

                """)
        text.set("collector", to: line.endpoint)
        text.set("collector-key", to: line.collectorKey.text)
        text.set("keys", to: keys.path)
        if let source = file.source { text.set("source", to: source) }
        try text.validate(path: file.path)
        return text
    }

    private func tell(_ enrolled: Enrolled, _ keys: KeyDirectory, _ files: [Written]) {
        let sources = enrolled.sources.map(\.description).joined(separator: ", ")
        print("enrolled as \(enrolled.name): this box may write \(sources)")
        print("key: \(keys.ownKeyPath)")
        for file in files { print("configuration: \(file.path)") }
        if files.contains(where: { $0.source == nil }) {
            print("set the source name there (source: NAME); it must match \(sources)")
        }
        if files.count > 1 {
            print("set the camera in each file (video: …); 'tributary-agent devices' lists them")
        }
        let units = files.compactMap { Self.service(of: $0.path) }
        guard units.count == files.count, access("/run/systemd/system", F_OK) == 0 else {
            for file in files { print("next: tributary-agent --config \(file.path)") }
            return
        }
        print("next: sudo systemctl enable --now \(units.joined(separator: " "))")
    }

    /// The service that has this configuration; nil: none.
    private static func service(of path: String) -> String? {
        if path == "\(systemDirectory)/agent.yaml" { return "tributary-agent" }
        let (start, end) = ("\(systemDirectory)/agents/", ".yaml")
        guard path.hasPrefix(start), path.hasSuffix(end) else { return nil }
        return "tributary-agent@\(path.dropFirst(start.count).dropLast(end.count))"
    }
}
