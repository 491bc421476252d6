import Archive
import Control
import Operations
import Terminal
import Wire

/// Asks the collector that records into an archive.
struct CollectorControl {
    private let client: ControlClient

    /// Looks whether there is a collector to ask.
    init(_ layout: ArchiveLayout) throws {
        guard try ArchiveLock.isTaken(layout) else {
            throw Failure(Self.absence(from: layout))
        }
        client = try ControlClient(
            path: layout.control, name: "the collector",
            explain: { status in Self.obstacle(in: status, layout) },
            isThere: { try ArchiveLock.isTaken(layout) })
    }

    /// Why a collector with this status cannot finish its files, and what to do; nil: unknown.
    private static func obstacle(in status: [UInt8], _ layout: ArchiveLayout) -> String? {
        do {
            let view = try SiteView(decoding: status)
            return view.trouble.map { trouble in
                view.lacksRoom
                    ? "\(trouble); free space on the disk of \(layout.root), for example with 'tributary rm'"
                    : "\(trouble); see its log"
            }
        } catch {
            // Of another version.
            return nil
        }
    }

    /// The message without a running collector, with its unfinished session.
    private static func absence(from layout: ArchiveLayout) -> String {
        let absence = "no collector is running on \(layout.root)"
        guard FileSystem.isDirectory(layout.sessions) else {
            return "\(absence), and it holds no recordings: give another --archive"
        }
        var open: String?
        do throws(ArchiveError) {
            // Only the newest session can be open: a collector ends or continues earlier ones at its start.
            if let newest = try layout.sessionNames().last,
                try SessionManifest.read(layout.manifest(newest)).state == .recording
            {
                open = newest
            }
        } catch {
            return "\(absence): \(error)"
        }
        guard let open else { return "\(absence), and no session is open there" }
        return
            "\(absence); session \(open) is open: start a collector there within its --idle-timeout to continue it"
    }

    /// Notifies the collector that runs in the archive, if one does, that a session was changed. A failed notification is
    /// one line: the change itself is done.
    static func tellChange(of session: String, in layout: ArchiveLayout) {
        do {
            guard try ArchiveLock.isTaken(layout) else { return }
            _ = try CollectorControl(layout).ask(.sessionChanged(session))
        } catch {
            Program.complain(
                "the running collector was not told that \(session) has changed: \(error)")
        }
    }

    /// Asks one thing, and waits for the answer.
    func ask(_ request: ControlRequest.Request) throws -> ControlReply.Reply {
        try client.ask(request)
    }
}
