import Archive
import ArgumentParser
import Terminal

/// Where the recordings are, for every subcommand.
struct ArchiveOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Directory of the recordings.", valueName: "dir"))
    var archive = "./recordings"

    var layout: ArchiveLayout { ArchiveLayout(root: archive) }

    /// The archive, which has to be there.
    func openLayout() throws -> ArchiveLayout {
        guard FileSystem.isDirectory(layout.sessions) else {
            throw Failure(
                "no archive at \(archive): it holds no recordings; give another --archive"
            )
        }
        return layout
    }

    /// One session: by its name, the name or a tag that people gave it, or the newest one for `latest`.
    func session(named name: String) throws -> String {
        let found = try sessions(named: name)
        guard let only = found.first, found.count == 1 else {
            throw Failure(
                "\(found.count) sessions have the name or tag '\(oneLine(name))': "
                    + "\(Self.list(found)); give one of these IDs")
        }
        return only
    }

    /// Sessions by a name, oldest first: one of that name; else those that people call so; else those with that tag.
    func sessions(named name: String) throws -> [String] {
        let layout = try openLayout()
        if name == "latest" {
            guard let newest = try layout.sessionNames().last else {
                throw Failure("no session in \(archive)")
            }
            return [newest]
        }
        if ArchiveLayout.isValidName(name), FileSystem.isDirectory(layout.session(name)) {
            return [name]
        }
        var named: [String] = []
        var tagged: [String] = []
        for session in try layout.sessionNames() {
            let notes = SessionLabels.read(session, in: layout)
            if notes.name == name { named.append(session) }
            if notes.tags.contains(name) { tagged.append(session) }
        }
        let found = named.isEmpty ? tagged : named
        guard !found.isEmpty else {
            throw Failure(
                "no session '\(oneLine(name))' in \(archive), by ID, name or tag: 'tributary ls' lists the sessions"
            )
        }
        return found
    }

    /// The first few of some names.
    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(5).joined(separator: ", ")
        return names.count > 5 ? "\(shown), …" : shown
    }
}

extension ArchiveOptions {
    /// What a command reads: a file by its path, an archive by its directory, or a session by its name, its directory, or `latest`.
    enum Subject {
        case file(String)
        case session(String, in: ArchiveLayout)
        case archive(ArchiveLayout)
    }

    func subject(_ what: String) throws -> Subject {
        if let place = try place(what) { return place }
        return .session(try session(named: what), in: layout)
    }

    /// Everything that a word or a path means: files, and sessions, of an archive's directory and of a tag all.
    func subjects(
        _ what: String
    ) throws -> (files: [String], sessions: [(name: String, layout: ArchiveLayout)]) {
        switch try place(what) {
        case .file(let path): return ([path], [])
        case .session(let name, let layout): return ([], [(name, layout)])
        case .archive(let inside):
            let names = try inside.sessionNames()
            if names.isEmpty { throw Failure("no session in \(what)") }
            return ([], names.map { ($0, inside) })
        case nil: return ([], try sessions(named: what).map { ($0, layout) })
        }
    }

    /// The session that a word or a path means; of an archive's directory its newest one.
    func oneSession(_ what: String) throws -> (name: String, layout: ArchiveLayout) {
        switch try subject(what) {
        case .session(let name, let layout): return (name, layout)
        case .archive(let layout):
            guard let newest = try layout.sessionNames().last else {
                throw Failure("no session in \(what)")
            }
            return (newest, layout)
        case .file:
            throw Failure("'\(what)' is a file: give a session or a session directory")
        }
    }

    /// What is there by that path; nil: it is a name.
    func place(_ what: String) throws -> Subject? {
        let isPath =
            what.contains("/") || what == "." || what == ".."
            || what.hasSuffix(ArchiveLayout.segmentSuffix)
        // A session of the archive comes before what has its name here.
        guard isPath || what != "latest" && !FileSystem.isDirectory(layout.session(what)) else {
            return nil
        }
        guard FileSystem.exists(what) else {
            if isPath { throw Failure("no file '\(what)'") }
            return nil
        }
        guard FileSystem.isDirectory(what) else { return .file(what) }
        if let (layout, name) = ArchiveLayout.session(directory: what) {
            return .session(name, in: layout)
        }
        let inside = ArchiveLayout(root: what)
        if FileSystem.isDirectory(inside.sessions) { return .archive(inside) }
        if isPath {
            throw Failure(
                "'\(what)' is neither a session directory (it has no \(ArchiveLayout.manifestName)) nor an archive "
                    + "(it has no sessions)")
        }
        return nil
    }
}

extension ArchiveOptions {
    /// What is read by commands that take media out: a session, or recorded files of one.
    /// - Parameter inputs: one or more.
    func recording(_ inputs: [String]) throws -> RecordedSession {
        if inputs.count == 1, let first = inputs.first {
            switch try subject(first) {
            case .session(let name, let layout):
                return try RecordedSession(directory: layout.session(name))
            case .archive:
                throw Failure(
                    "'\(first)' is an archive: give one of its sessions, with --archive \(first)"
                )
            case .file: return try RecordedSession(files: inputs)
            }
        }
        for input in inputs {
            guard FileSystem.exists(input) else { throw Failure("no file '\(input)'") }
            if FileSystem.isDirectory(input) {
                throw Failure(
                    "'\(input)' is a directory: give one session, or files of one session")
            }
        }
        return try RecordedSession(files: inputs)
    }
}

/// Runs work on an archive with its errors as one line.
func withArchiveErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let error as ArchiveError {
        throw Failure("\(error)")
    }
}
