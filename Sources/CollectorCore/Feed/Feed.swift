import Logging
import Messaging
import Operations

/// A collector's feed while it runs. What fails here is said once, and recording goes on without it.
struct Feed {
    private static let statusNanoseconds: Int64 = 1_000_000_000

    private var publisher: FeedPublisher?
    private let logger: Logger
    private var nextStatus: Int64 = .min

    /// - Parameter publisher: nil: nobody can watch.
    init(_ publisher: FeedPublisher?, logger: Logger) {
        self.publisher = publisher
        self.logger = logger
    }

    var watched: WatchedSources { publisher?.watched ?? WatchedSources() }
    /// Somebody has subscribed to anything.
    var isWatched: Bool { publisher?.isWatched ?? false }

    /// Takes in who has come and gone; ten times a second. Publishes the status once a second.
    mutating func tick(board: StatusBoard, now: Int64) {
        do {
            _ = try publisher?.followSubscriptions()
            guard now >= nextStatus else { return }
            nextStatus = now + Self.statusNanoseconds
            try publisher?.publish { try board.view.encoded() }
        } catch {
            give(up: error)
        }
    }

    /// Publishes samples of watched sources.
    mutating func publish(_ placed: [PlacedSamples<ReceivedPart>]) {
        do throws(MessagingError) {
            for samples in placed { try publisher?.publish(samples) }
        } catch {
            give(up: error)
        }
    }

    private mutating func give(up error: any Error) {
        logger.error("nobody can watch live any more: \(error)")
        publisher = nil
    }
}
