import Archive
import ArgumentParser
import Catalog
import Library
import ObjectStore
import Recordings
import Terminal

/// The archive's directory, for subcommands that reach a collector or change an archive.
struct DirectoryOptions: ParsableArguments {
    @Option(
        name: .customLong("archive"),
        help: ArgumentHelp(
            "Directory of the recordings. (default: ./recordings)", valueName: "dir"))
    var given: [String] = []

    func validate() throws {
        if let flaw = OneArchive.flaw(given) { throw ValidationError(flaw) }
    }

    /// The directory as given.
    var archive: String { given.first ?? OneArchive.usual }

    /// An archive's directory, which need not exist.
    var layout: ArchiveLayout { ArchiveLayout(root: archive) }

    /// Resolves arguments to sessions and files.
    var finder: SessionFinder { finder(.own) }

    /// The archive, which must exist.
    func library() throws(LibraryError) -> RecordingLibrary { try finder.library() }

    /// With a catalog, for commands that query or change it.
    func finder(_ catalog: CatalogReference) -> SessionFinder {
        SessionFinder(archive, catalog: catalog) { Program.complain($0) }
    }
}

/// An archive's directory, or all archives of a site, for subcommands that change labels or marks.
struct ChangedArchiveOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Directory of the recordings. (default: with --catalog \(CatalogReference.serverForm) all archives of the site that are on this machine, \
            or can be reached with --site-token-file; otherwise ./recordings)
            """, valueName: "dir"))
    var archive: [String] = []

    @OptionGroup var catalog: CatalogOptions

    @OptionGroup(title: "Site") var site: SiteOptions

    /// Kept in memory of files behind viewers: descriptions and names.
    private static let cacheBytes = 16 << 20

    func validate() throws {
        if let flaw = OneArchive.flaw(ofDirectories: archive) { throw ValidationError(flaw) }
    }

    /// Validates the options of a command that makes a change.
    func validateForChange() throws {
        if let flaw = OneArchive.flaw(archive) { throw ValidationError(flaw) }
    }

    /// Archives of a site that can be changed from here.
    struct Site {
        var archives: SiteArchives
        var access: ViewerAccess?
        var finder: SessionFinder
    }

    /// The site whose catalog alone was given; nil: one directory was, or there is no site.
    func reachedSite() throws -> Site? {
        guard archive.isEmpty else { return nil }
        let catalog = try catalog.forReading("tributary")
        guard let server = catalog.server else { return nil }
        let collectors = try server.reportedCollectors()
        let access = try site.access()
        let archives = SiteArchives(
            collectors, endpoint: nil, readsViewers: access != nil, isForChanges: true)
        let reference = try archives.reference(
            StoreOptions(), site: access, cacheBytes: Self.cacheBytes, shutdown: LongWork.end
        ) { Program.complain($0) }
        guard let reference else {
            throw Failure(
                "none of the site's archives can be changed from here: give --archive on a collector's machine, or --site-token-file"
            )
        }
        return Site(
            archives: archives, access: access,
            finder: SessionFinder(reference, catalog: catalog, waiting: .lenient) {
                Program.complain($0)
            })
    }

    /// The sessions of the directory, or of several as one.
    var finder: SessionFinder {
        OneArchive.finder(archive, .own)
    }
}

/// `--archive` of a command that works on one directory.
enum OneArchive {
    /// The directory without an option.
    static let usual = "./recordings"

    /// The error in the given archives; nil: none.
    static func flaw(_ archives: [String]) -> String? {
        guard archives.count <= 1 else {
            return
                "--archive is given \(archives.count) times, and this command works on one archive: give one"
        }
        guard let archive = archives.first else { return nil }
        // A directory's name may have a comma.
        if archive.contains(","), !NamedPath.exists(archive),
            OptionEnvironment.current()["TRIBUTARY_ARCHIVE"] == archive
        {
            return
                "TRIBUTARY_ARCHIVE has several archives, and this command works on one: give one in --archive"
        }
        return flaw(ofDirectories: archives)
    }

    /// The sessions of a directory, or of several as one.
    /// - Parameter archives: as given.
    static func finder(_ archives: [String], _ catalog: CatalogReference) -> SessionFinder {
        guard archives.count > 1 else {
            return SessionFinder(archives.first ?? usual, catalog: catalog) {
                Program.complain($0)
            }
        }
        return SessionFinder(
            ArchiveReference(archives.map { ArchiveReference(directory: $0) }), catalog: catalog
        ) { Program.complain($0) }
    }

    /// Why these archives cannot be used by a command that needs directories; nil: they can.
    static func flaw(ofDirectories archives: [String]) -> String? {
        if let archive = archives.first(where: StoreAddress.isAddress) {
            return
                "--archive \(archive) is an object store, and this command needs a directory: give the collector's archive"
        }
        do throws(UsageError) {
            try ArchiveReference.check(archives)
            return nil
        } catch {
            return "\(error)"
        }
    }
}

extension CatalogServer {
    /// The collectors that share the catalog.
    /// - Throws: if no collector has reported in it: its archives are not known.
    func reportedCollectors() throws -> [SiteCollector] {
        let collectors = try register.collectors()
        guard !collectors.isEmpty else {
            throw Failure(
                "no collector has reported in the catalog \(name) yet, so its archives are not known: start a collector with it, "
                    + "or give --archive")
        }
        return collectors
    }
}

/// Archives for subcommands that read: a directory, an object store, or both; or several of these.
struct ArchiveOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Directory of the recordings, or an object store: \(StoreOptions.form). Repeatable: several archives are read as one, \
            with each record once. (default: with --catalog \(CatalogReference.serverForm) all archives of the site that can be read from here, \
            otherwise ./recordings)
            """, valueName: "dir"))
    var archive: [String] = []

    @OptionGroup var catalog: CatalogOptions

    @OptionGroup(title: "Object store") var store: StoreOptions

    @OptionGroup(title: "Site") var site: SiteOptions

    /// Kept in memory of files in an object store: one command reads a few of them at a time.
    private static let cacheBytes = 64 << 20

    func validate() throws {
        do throws(UsageError) {
            for archive in archive where StoreAddress.isAddress(archive) {
                _ = try store.address(archive, option: "--archive")
            }
            try ArchiveReference.check(archive, store)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The archives as given.
    var archives: [String] { archive.isEmpty ? [OneArchive.usual] : archive }

    private func reference() throws -> ArchiveReference {
        try ArchiveReference(
            archives, store, cacheBytes: Self.cacheBytes, shutdown: LongWork.end
        ) { Program.complain($0) }
    }

    /// The first archive alone.
    func first() throws -> ArchiveReference {
        try ArchiveReference(
            archives[0], store, cacheBytes: Self.cacheBytes, shutdown: LongWork.end
        ) { Program.complain($0) }
    }

    /// Directories of the site's archives on this machine, and a line for each archive that is not; none without a site.
    /// - Parameter catalog: in which the site's collectors report.
    func siteDirectories(
        _ catalog: CatalogReference
    ) throws -> (paths: [String], problems: [String]) {
        guard let server = catalog.server else { return ([], []) }
        let found = SiteArchives(
            archive.isEmpty ? try server.reportedCollectors() : try server.register.collectors(),
            endpoint: store.storeEndpoint,
            readsViewers: site.siteTokenFile != nil)
        var paths: [String] = []
        var problems = found.problems
        for place in found.places {
            switch place {
            case .directory(let path, _): paths.append(path)
            case .bucket, .viewer:
                problems.append("\(place) is left out: it is no directory of this machine")
            }
        }
        return (paths, problems)
    }

    /// All archives of the site if only its catalog was given; nil otherwise, or without a site.
    private func siteArchives(_ catalog: CatalogReference) throws -> ArchiveReference? {
        guard archive.isEmpty, store.store == nil, let server = catalog.server else { return nil }
        let collectors = try server.reportedCollectors()
        let access = try site.access()
        let archives = SiteArchives(
            collectors, endpoint: store.storeEndpoint, readsViewers: access != nil)
        let reference = try archives.reference(
            store, site: access, cacheBytes: Self.cacheBytes, shutdown: LongWork.end
        ) { Program.complain($0) }
        guard let reference else {
            throw Failure(
                "none of the site's archives can be read from here: give --archive, --store-endpoint and credentials, or --site-token-file"
            )
        }
        return reference
    }

    /// Finds the sessions and files on the command line, for commands that read.
    /// - Parameter waiting: for a store beside a directory.
    func finder(waiting: StoreWaiting = .strict) throws -> SessionFinder {
        let catalog = try catalog.forReading("tributary")
        return SessionFinder(
            try siteArchives(catalog) ?? reference(), catalog: catalog, waiting: waiting
        ) { Program.complain($0) }
    }

    /// Finds the sessions and files in one archive, for commands that change it.
    func finder(_ catalog: CatalogReference) throws -> SessionFinder {
        SessionFinder(try reference(), catalog: catalog) { Program.complain($0) }
    }
}

extension SessionFinder {
    /// Ends a command that has done what it can.
    /// - Throws: the exit status, if something was left out. The line about it is already printed.
    func checkComplete() throws {
        if isIncomplete { throw ExitCode(ExitStatus.failure) }
    }
}

extension ArchiveError {
    /// The error as one line, with what to do about a server.
    var failure: Failure {
        Failure(isForServer ? "\(self); check the server and the address in --catalog" : "\(self)")
    }
}

/// Runs work on an archive with its errors as one line.
func withArchiveErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let error as ArchiveError {
        throw error.failure
    } catch let error as LibraryError {
        throw Failure(oneLine("\(error)"))
    }
}
