import Archive
import ArgumentParser
import Library
import Media
import ObjectStore
import Recordings
import Terminal
import Threads
import Uploading

/// `tributary store`: an archive's object store, by hand.
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Uploads to an object store, checks it, and moves media between it and the disk.",
        discussion: """
            A collector with --store does all of this by itself. These commands do it for archives without a collector, and at once. \
            They may be used while a collector runs. A store that does not answer ends them: after 8 seconds of silence ('push' after a \
            minute), with what was done, and one line about what was not.
            """,
        subcommands: [
            StorePushCommand.self, StoreVerifyCommand.self, StoreFetchCommand.self,
            StoreForgetCommand.self,
        ])
}

/// The archive and the store that a command works on.
struct StoreArguments: ParsableArguments {
    @OptionGroup var archive: DirectoryOptions
    @OptionGroup(title: "Object store") var store: StoreOptions

    @Option(
        help: ArgumentHelp("Maximum bytes per second, such as 10MB.", valueName: "bytes"))
    var storeRate: ByteCount?

    func validate() throws {
        if let storeRate, storeRate.bytes <= 0 {
            throw ValidationError(
                "--store-rate 0 would send nothing: use at least 1kB, or leave it out")
        }
    }

    /// - Parameters:
    ///   - patience: timeout; the user is waiting for the command.
    ///   - shutdown: ends waits for the store.
    func bucket(
        patience: StorePatience = .reading, shutdown: Shutdown = Shutdown()
    ) throws -> any ObjectBucket {
        guard let bucket = try store.bucket(patience: patience, shutdown: shutdown) else {
            throw StoreOptions.missing("no object store")
        }
        return bucket
    }

    var settings: UploadSettings {
        var settings = UploadSettings()
        settings.bytesPerSecond = storeRate?.bytes
        return settings
    }

    func place() throws -> UploadTarget {
        UploadTarget(
            try bucket(), archive.layout, settings: settings, surroundings: .system(),
            figures: UploadFigures())
    }

    /// The sessions that were named; all of the archive where none was.
    func sessions(_ names: [String]) throws -> [String] {
        if names.isEmpty { return try archive.library().sessionNames() }
        return try names.map { try archive.finder.session(named: $0).name }
    }
}

/// Runs work with a store, with its errors as one line.
func withStoreErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do {
        return try withArchiveErrors(body)
    } catch let error as UploadError {
        throw Failure(error.line)
    }
}
