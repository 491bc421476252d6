import Archive
import ArgumentParser
import Library
import Terminal

/// Where the recordings are, for every subcommand.
struct ArchiveOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Directory of the recordings.", valueName: "dir"))
    var archive = "./recordings"

    /// Where an archive is, or would be.
    var layout: ArchiveLayout { ArchiveLayout(root: archive) }

    /// Finds sessions and files by what is given on the command line.
    var finder: SessionFinder { SessionFinder(archive) { Program.complain($0) } }

    /// The archive, which has to be there.
    func library() throws(LibraryError) -> RecordingLibrary { try finder.library() }

    /// The same with a catalog, for commands that ask it or change what is in it.
    func finder(_ catalog: CatalogReference) -> SessionFinder {
        SessionFinder(archive, catalog: catalog) { Program.complain($0) }
    }
}

/// Runs work on an archive with its errors as one line.
func withArchiveErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let error as ArchiveError {
        throw Failure(
            error.isForServer
                ? "\(error); check the server and the address in --catalog" : "\(error)")
    } catch let error as LibraryError {
        throw Failure(oneLine("\(error)"))
    }
}
