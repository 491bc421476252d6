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
                "no archive at \(archive): nothing has been recorded there; say where with --archive"
            )
        }
        return layout
    }

    /// A session by its name, or the newest one for `latest`.
    func session(named name: String) throws -> String {
        let layout = try openLayout()
        if name == "latest" {
            guard let newest = try layout.sessionNames().last else {
                throw Failure("no session in \(archive)")
            }
            return newest
        }
        guard ArchiveLayout.isValidName(name), FileSystem.isDirectory(layout.session(name)) else {
            throw Failure(
                "no session '\(name)' in \(archive); 'tributary ls' shows those there are")
        }
        return name
    }
}

extension ArchiveOptions {
    /// What a command reads: a recording by its path, or a session by its name, its directory, or `latest`.
    enum Subject {
        case file(String)
        case session(String, in: ArchiveLayout)
    }

    func subject(_ what: String) throws -> Subject {
        let isPath = what.contains("/") || what.hasSuffix(ArchiveLayout.segmentSuffix)
        guard isPath || what == "." || what == ".." else {
            return .session(try session(named: what), in: layout)
        }
        if let (layout, name) = ArchiveLayout.session(directory: what) {
            return .session(name, in: layout)
        }
        guard FileSystem.exists(what) else { throw Failure("no file '\(what)'") }
        if FileSystem.isDirectory(what) {
            throw Failure(
                "'\(what)' is no session's directory (no \(ArchiveLayout.manifestName) in it)")
        }
        return .file(what)
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
