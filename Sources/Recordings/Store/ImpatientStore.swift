import Archive
import Dispatch
import Synchronization
import Threads

/// A bucket whose listings do not block: they return the last listing, which is updated in the background. Only the first
/// listing of a folder is waited for, briefly, and not if such a wait timed out before.
struct ImpatientStore: SegmentStore {
    /// Sufficient for a listing of some pages.
    private static let patienceNanoseconds = 2_000_000_000

    private let store: ObjectSegmentStore

    init(_ store: ObjectSegmentStore) { self.store = store }

    var name: String { store.name }

    func path(_ file: StoredPath) -> String { store.path(file) }

    func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry] {
        try remembered(folder).entries
    }

    func state(of folder: StoredPath) throws(ArchiveError) -> UInt64? {
        try remembered(folder).state
    }

    func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile { try store.open(file) }

    func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError) {
        try store.put(bytes, at: file)
    }

    func delete(_ file: StoredPath) throws(ArchiveError) { try store.delete(file) }

    private func remembered(
        _ folder: StoredPath
    ) throws(ArchiveError) -> ObjectSegmentStore.Remembered {
        let known = store.remembered(folder)
        if let known, known.isFresh { return known }
        let question = store.questions.ask(folder) { () throws(ArchiveError) in
            _ = try store.list(folder)
        }
        if let known { return known }
        if let question, store.questions.waits(for: question, Self.patienceNanoseconds) {
            if let error = question.failure { throw error }
            if let known = store.remembered(folder) { return known }
        }
        throw .store(reason: "\(store.path(folder)) has not been listed yet")
    }
}

/// Background requests to a store; equal requests are not duplicated.
final class StoreQuestions: Sendable {
    /// Limit of threads that wait for the store.
    private static let maximumQuestions = 4

    final class Question: Sendable {
        fileprivate let ended = Semaphore(value: 0)
        private let outcome = Mutex<ArchiveError?>(nil)

        fileprivate func settle(_ error: ArchiveError?) {
            outcome.withLock { $0 = error }
            ended.signal()
        }

        var failure: ArchiveError? { outcome.withLock { $0 } }
    }

    private struct State {
        var asked: [StoredPath: Question] = [:]
        /// The last request with a waiting caller timed out, and none has been answered since.
        var isSlow = false
    }

    private let state = Mutex(State())

    /// Starts a request, unless it is running already.
    /// - Returns: the request; nil if too many are running.
    func ask(
        _ folder: StoredPath, _ body: @escaping @Sendable () throws(ArchiveError) -> Void
    ) -> Question? {
        let (question, isNew) = state.withLock { state -> (Question?, Bool) in
            if let asked = state.asked[folder] { return (asked, false) }
            guard state.asked.count < Self.maximumQuestions else { return (nil, false) }
            let question = Question()
            state.asked[folder] = question
            return (question, true)
        }
        guard let question, isNew else { return question }
        NamedThread.start("ask store") { [self] in
            var failure: ArchiveError?
            do throws(ArchiveError) {
                try body()
            } catch {
                failure = error
            }
            state.withLock { state in
                state.asked[folder] = nil
                if failure == nil { state.isSlow = false }
            }
            question.settle(failure)
        }
        return question
    }

    /// Waits for a request.
    /// - Returns: false on timeout.
    func waits(for question: Question, _ nanoseconds: Int) -> Bool {
        let isSlow = state.withLock { $0.isSlow }
        let outcome = question.ended.wait(timeout: .now() + .nanoseconds(isSlow ? 0 : nanoseconds))
        guard outcome == .success else {
            state.withLock { $0.isSlow = true }
            return false
        }
        // Wakes the next waiter.
        question.ended.signal()
        return true
    }
}
