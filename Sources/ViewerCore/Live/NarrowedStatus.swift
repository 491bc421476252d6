import Accounts
import Operations
import Synchronization

/// A status without the sources that some accounts may not see, computed once per set of rights. Any thread may call.
final class NarrowedStatus: Sendable {
    /// Cache size: more than the kinds of accounts at most sites. Others are computed for each client.
    static let maximumTexts = 64

    /// - Returns: one line; nil if the status cannot be parsed.
    typealias Narrowing = @Sendable (_ json: String, Rights) -> String?

    private let json: String
    private let narrowing: Narrowing
    private let texts = Mutex<[SourceScope: String?]>([:])

    /// - Parameters:
    ///   - json: the whole status.
    ///   - narrowing: ``narrowed(_:_:)``; tests count.
    init(
        _ json: String,
        narrowing: @escaping Narrowing = { NarrowedStatus.narrowed($0, $1) }
    ) {
        self.json = json
        self.narrowing = narrowing
    }

    /// The status without sources that an account may not see, one line; nil if it cannot be parsed.
    func text(for rights: Rights) -> String? {
        let (json, narrowing) = (json, narrowing)
        return texts.withLock { texts -> String? in
            if let known = texts[rights.sources] { return known }
            // Under the lock: all listeners ask at the same moment, and wait for the one that makes it.
            let text = narrowing(json, rights)
            if texts.count < Self.maximumTexts { texts.updateValue(text, forKey: rights.sources) }
            return text
        }
    }

    /// The status without sources outside of the rights, one line; nil: it is of another version.
    static func narrowed(_ json: String, _ rights: Rights) -> String? {
        do {
            var view = try SiteView(decoding: Array(json.utf8))
            view.removeSources { !rights.mayRead($0) }
            if view.sources.isEmpty { (view.session, view.sessionSeconds) = (nil, nil) }
            view.omittedSources = 0
            view.store = nil
            // Sums that include the removed sources.
            for index in (view.collectors ?? []).indices {
                view.collectors?[index].sources = 0
                view.collectors?[index].bitsPerSecond = 0
            }
            return EventLog.line(try view.encoded())
        } catch {
            // A status of another version is skipped.
            return nil
        }
    }
}
