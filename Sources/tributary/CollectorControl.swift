import Archive
import Control
import Terminal
import Wire

/// Asks the collector that records into an archive.
struct CollectorControl {
    private let client: ControlClient

    /// Looks whether there is a collector to ask.
    init(_ layout: ArchiveLayout) throws {
        guard try ArchiveLock.isTaken(layout) else {
            throw Failure(
                "no collector is recording into \(layout.root): say where with --archive")
        }
        client = try ControlClient(path: layout.control, name: "the collector") {
            try ArchiveLock.isTaken(layout)
        }
    }

    /// Asks one thing, and waits for the answer.
    func ask(_ request: ControlRequest.Request) throws -> ControlReply.Reply {
        try client.ask(request)
    }
}
