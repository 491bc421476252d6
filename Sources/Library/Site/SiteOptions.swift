package import ArgumentParser
import Files
package import ObjectStore
package import Terminal
import Threads

/// Access to archives on other machines through their collectors' viewers.
package struct ViewerAccess: Sendable {
    package var tokens: SiteTokens
    /// A file of certificates (PEM) that are trusted instead of the system's; nil: the system's.
    package var authorities: String?

    /// An archive behind a viewer.
    /// - Parameters:
    ///   - collector: the archive's collector, for messages.
    ///   - name: of the archive in messages; nil: its viewer's address and its collector.
    func bucket(
        _ address: ViewerAddress, archive: String, collector: String, name: String? = nil,
        _ shutdown: Shutdown
    ) throws(ObjectStoreError) -> ViewerBucket {
        try ViewerBucket(
            address, archive: archive, collector: collector, name: name, tokens: tokens,
            authorities: authorities, shutdown: shutdown)
    }
}

/// Options of everything that reads a site, and of the viewers that serve it.
package struct SiteOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            File with the token that the readers and viewers of a site share, mode 0600: one line of 32 characters or more \
            ('openssl rand -base64 32'); while it is replaced, two, of which the first is used and both are accepted. With it, an archive that is on another machine's disk alone is read through its \
            collector's viewer, and a viewer serves the archives on its own disk to other readers. (default: neither)
            """, valueName: "file"))
    package var siteTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Certificates of the authorities that viewers of the site have theirs from, PEM. (default: the system's)",
            valueName: "file"))
    package var siteCaFile: String?

    package init() {}

    package func validate() throws {
        if siteCaFile != nil, siteTokenFile == nil {
            throw ValidationError(
                "--site-ca-file is for the viewers that --site-token-file asks: give it, too")
        }
    }

    /// A bundle of all public authorities has a quarter of that.
    private static let maximumAuthoritiesBytes = 1 << 20

    /// Reads the token's file, and checks that the authorities' file can be read; nil without a token's file.
    /// - Parameter report: receives lines about later changes of the token's file; called on any thread.
    package func access(
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(Failure) -> ViewerAccess? {
        guard let siteTokenFile else { return nil }
        try checkAuthorities()
        do throws(SiteSecret.Flaw) {
            return ViewerAccess(
                tokens: try SiteTokens(file: siteTokenFile, report: report),
                authorities: siteCaFile)
        } catch {
            throw Failure("--site-token-file: \(error)")
        }
    }

    private func checkAuthorities() throws(Failure) {
        guard let siteCaFile else { return }
        let content: SmallFile.Content?
        do throws(FileError) {
            content = try SmallFile.read(siteCaFile, limit: Self.maximumAuthoritiesBytes, .trusted)
        } catch .accessibleByOthers(let path) {
            throw Failure(
                "--site-ca-file: \(path) can be written by other users: chmod go-w \(path)")
        } catch {
            throw Failure("--site-ca-file: \(error)")
        }
        if content == nil { throw Failure("--site-ca-file: there is no \(siteCaFile)") }
    }
}
