import Archive
import Catalog
import CLinux
import CollectorClient
import Control
import Dispatch
import Glibc
import Logging
import Media
import Messaging
import ObjectStore
import Operations
import Threads
import Trust
import Uploading
import Wire

/// The services that the receiving thread passes work to. Each has its own thread, or none.
struct CollectorServices {
    /// Sockets for requests from this machine.
    let controls: [ControlServer]
    let editor: SessionEditor
    /// Events of recordings.
    let spine: Spine
    let space: FreeSpace
    let catalog: CatalogThread
    let disk: DiskWriter
    /// nil: there is no object store.
    let uploads: ArchiveUploads?
    let retention: Retention
    /// nil: the catalog is not shared.
    let site: SitePublisher?
    /// nil: the catalog is not shared, or the kernel does not say which clock this is.
    let peerClocks: PeerClocks?
}

extension ReceivingThread {
    /// Starts all of a collector's services, in order; `running` stops them in the opposite order.
    ///
    /// | service | thread | started | stopped |
    /// | --- | --- | --- | --- |
    /// | archive lock | | first | last |
    /// | control, commands | `control` each | before threads that create files | |
    /// | session editor | a queue | after the spine | when its changes are made |
    /// | authenticators | `authenticator`, `feed keys` | before the sockets that need them | after these sockets |
    /// | wire recorder, intake watch | `wire`, `intake` | before the agents' socket | after it |
    /// | sockets of agents and feeds | this thread | before recording | with this thread |
    /// | catalog, disk | `catalog`, `disk` | catalog first, because it follows the disk's events | by ``run()``, disk first |
    /// | lease | `lease` | before the uploads, which use it | after them |
    /// | uploads | `uploads`, `upload` | after the disk, which removes local copies | |
    /// | retention | `retention` | after the uploads, which remove stored copies | after the site |
    /// | peer clocks | `peer clocks` | before the site, which finds the peers | after it |
    /// | site | `site` | when the collector's status is available | first; it reports the end |
    init(
        _ environment: CollectorEnvironment, _ archive: PreparedArchive, running: ServiceStack
    ) throws(CollectorError) {
        running.append { [lock = archive.lock] _ in withExtendedLifetime(lock) {} }
        let (layout, settings) = (environment.layout, environment.settings)
        let (logger, wakeUp, changeable) = (
            environment.logger, environment.wakeUp, environment.changeable
        )
        let spine = Spine()

        // Before other threads create files: binding the socket changes the process's file mode mask for a moment.
        let control = try environment.openControl()
        running.append { _ in control.stop() }
        let localFeed = environment.openFeed()
        let commands = try environment.openCommands()
        running.append { _ in commands?.stop() }

        let editor = SessionEditor(
            layout: layout, catalog: settings.catalog, spine: spine, logger: logger)
        running.append { _ in editor.finish() }

        let (context, authenticator) = try environment.openAuthenticator()
        running.append { _ in authenticator?.close() }
        let (remoteFeed, feedKeys, feedEndpoint) = try environment.openRemoteFeed()
        running.append { _ in feedKeys?.close() }

        let wireRecorder = try environment.openWireRecorder()
        wireRecorder?.start()
        running.append { _ in wireRecorder?.stop() }
        let watch = IntakeWatch(counters: environment.refusals, logger: logger) { wakeUp.signal() }
        watch.start()
        running.append { _ in watch.stop() }

        let receiver = try Receiver(
            settings: settings, context: context, authenticator: authenticator,
            wireRecorder: wireRecorder, counters: environment.refusals, watch: watch,
            wakeUp: wakeUp, logger: logger)

        let space = FreeSpace(
            reserveBytes: changeable.current.reserveBytes, directory: layout.sessions)
        environment.disk.measure(layout.sessions)
        let catalog = CatalogThread(settings.catalog.place(layout), layout, spine: spine) {
            wakeUp.signal()
        }
        catalog.start()
        let disk = DiskWriter(layout: layout, space: space, spine: spine, meter: environment.disk) {
            wakeUp.signal()
        }
        disk.start()

        let lease = environment.makeRetentionLease()
        lease?.start()
        running.append { lease?.stop(until: $0) }

        let uploads = settings.store.map { store in
            ArchiveUploads(
                store, layout: layout, countsRecords: settings.release.waitsForStore, spine: spine,
                meter: environment.disk, lease: lease, logger: logger
            ) { disk.submit([.remove($0)]) }
        }
        uploads?.start()
        running.append { uploads?.stop(until: $0) }

        let retention = Retention(
            layout: layout, limits: { changeable.current.retention }, logger: logger,
            meter: environment.disk,
            store: uploads.map { uploads in
                Retention.Store(
                    limits: { changeable.current.localCache }, evict: uploads.evict,
                    forget: uploads.forget)
            }
        ) {
            disk.submit($0.map(DiskJob.remove))
        }
        retention.start()
        running.append { retention.stop(until: $0) }

        let peerClocks = try environment.makePeerClocks { uploads?.documentsChanged(of: $0) }
        peerClocks?.start()
        running.append { peerClocks?.stop(until: $0) }
        let site = environment.makeSitePublisher(peerClocks, feed: feedEndpoint) { places in
            authenticator?.admit(places.compactMap(\.authorization))
        }
        site?.start()
        running.append { site?.stop(until: $0) }

        let services = CollectorServices(
            controls: [control] + (commands.map { [$0] } ?? []), editor: editor, spine: spine,
            space: space, catalog: catalog, disk: disk, uploads: uploads, retention: retention,
            site: site, peerClocks: peerClocks)
        self.init(
            environment, services, receiver: receiver,
            feed: Feed(
                [localFeed, remoteFeed].compactMap { $0 }, spine: spine, logger: logger),
            loop: CollectorLoop(environment, services, archive))
    }
}

extension CollectorEnvironment {
    /// Opens the control socket for commands on the server.
    fileprivate func openControl() throws(CollectorError) -> ControlServer {
        try listen(at: layout.control, for: .owner) { [board] request in
            guard case .status = request else { return nil }
            do {
                return .status(try board.view.encoded())
            } catch {
                return .failure(.other, "the status cannot be written: \(error)")
            }
        }
    }

    /// Opens the socket for commands from the archive's group, if it is enabled.
    fileprivate func openCommands() throws(CollectorError) -> ControlServer? {
        guard settings.takesGroupCommands else {
            // A socket left by an earlier collector would look like a running one.
            unlink(layout.commands)
            return nil
        }
        return try listen(at: layout.commands, for: .group) { GroupCommands.refusal(of: $0) }
    }

    private func listen(
        at path: String, for audience: ControlServer.Audience,
        answersAtOnce: @escaping @Sendable (ControlRequest.Request) -> ControlReply.Reply?
    ) throws(CollectorError) -> ControlServer {
        do throws(ControlSocketError) {
            let server = try ControlServer(for: audience, answersAtOnce: answersAtOnce) {
                [wakeUp] _ in wakeUp.signal()
            }
            try server.start(at: path)
            return server
        } catch {
            let advice =
                error.isForLength ? ": give --archive a shorter path, perhaps a relative one" : ""
            throw .cannotControl(path: path, reason: error.description + advice)
        }
    }

    /// Opens the local feed; without it, recording continues.
    fileprivate func openFeed() -> FeedPublisher? {
        do throws(MessagingError) {
            return try FeedPublisher(path: layout.feed, in: Context())
        } catch {
            logger.warning("viewers on this machine cannot watch live: \(error)")
            return nil
        }
    }

    /// Opens the feed for viewers on other machines, if it is enabled.
    ///
    /// It has its own context: its I/O thread encrypts, and its authenticator admits viewers, not agents.
    /// - Returns: also the endpoint, with the actual port.
    fileprivate func openRemoteFeed() throws(CollectorError) -> (
        FeedPublisher?, KeyAuthenticator?, endpoint: String?
    ) {
        guard let remote = settings.remoteFeed else { return (nil, nil, nil) }
        var opened: KeyAuthenticator?
        do {
            let context = try Context()
            let authenticator = try remote.keys.map { keys in
                try KeyAuthenticator(
                    keys: keys, for: .watching, counters: refusals, logger: logger, changed: {})
            }
            try authenticator?.open(in: context)
            opened = authenticator
            let publisher = try FeedPublisher(
                endpoint: remote.endpoint,
                security: remote.keys.map { .server($0.key) } ?? .plain,
                authenticator: authenticator, in: context, counters: refusals, logger: logger)
            let protection = remote.keys == nil ? ", without keys" : ""
            let endpoint = try publisher.endpoint()
            logger.info("the feed is at \(endpoint)\(protection)")
            return (publisher, authenticator, endpoint)
        } catch {
            opened?.close()
            throw .cannotPublish(endpoint: remote.endpoint, reason: "\(error)")
        }
    }

    /// Creates libzmq's context for agents and, unless they need not authenticate, its authenticator.
    fileprivate func openAuthenticator() throws(CollectorError) -> (Context, KeyAuthenticator?) {
        let context: Context
        do throws(MessagingError) {
            context = try Context()
        } catch {
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
        guard let keys = settings.keys else { return (context, nil) }
        let authenticator: KeyAuthenticator
        do throws(MessagingError) {
            authenticator = try KeyAuthenticator(keys: keys, counters: refusals, logger: logger) {
                [wakeUp] in wakeUp.signal()
            }
        } catch {
            throw .cannotAdmit(reason: "\(error)")
        }
        try authenticator.open(in: context)
        return (context, authenticator)
    }

    /// Measures the clocks of the other collectors where the catalog is shared, unless this one has no name.
    /// - Parameter recorded: called when a session has its last lines about them.
    fileprivate func makePeerClocks(
        recorded: @escaping @Sendable (String) -> Void
    ) throws(CollectorError) -> PeerClocks? {
        guard settings.catalog.server != nil, !settings.name.isEmpty,
            let clock = BootEpoch.known()
        else { return nil }
        do throws(MessagingError) {
            return try PeerClocks(
                clock: clock, layout: layout, key: settings.keys?.key, logger: logger,
                recorded: recorded)
        } catch {
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
    }

    /// Reports itself where the catalog is shared, unless it has no name.
    /// - Parameter feed: the endpoint of the feed for other machines.
    fileprivate func makeSitePublisher(
        _ clocks: PeerClocks?, feed: String?,
        peersFound: @escaping @Sendable ([PeerProbeAddress]) -> Void
    ) -> SitePublisher? {
        guard let server = settings.catalog.server, !settings.name.isEmpty else { return nil }
        var report = SiteReport(
            name: settings.name, version: settings.version, machine: ArchiveIdentity.host,
            listen: settings.endpoint, http: settings.http,
            archive: ArchiveIdentity.path(of: layout), store: settings.store?.bucket.name,
            release: settings.release.rawValue)
        report.storeEndpoint = settings.storeEndpoint
        report.address = settings.address
        report.viewer = settings.viewer
        report.clock = clocks?.clock.description
        report.key = settings.keys?.key.publicKey.text
        report.feed = feed
        report.feedKey = settings.remoteFeed?.keys?.key.publicKey.text
        return SitePublisher(
            CatalogSiteReporting(server.register, layout), report, board: board, logger: logger,
            clocks: clocks, peersFound: peersFound)
    }

    /// The lease for removals from the object store: collectors that share the catalog may also share the store.
    fileprivate func makeRetentionLease() -> LeaseKeeper? {
        guard let server = settings.catalog.server, let store = settings.store else { return nil }
        let endpoint = settings.storeEndpoint.map { " at \($0)" } ?? ""
        return LeaseKeeper(
            CatalogLeaseTaking(server.leases, label: settings.name),
            name: "retention in \(store.bucket.name)\(endpoint)", logger: logger)
    }

    /// Creates the file for everything received, if one is named.
    fileprivate func openWireRecorder() throws(CollectorError) -> WireRecorder? {
        guard let path = settings.wireRecording else { return nil }
        return try WireRecorder(path: path, logger: logger)
    }
}
