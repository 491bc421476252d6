import Archive
import Dispatch
import Synchronization
import Threads

/// A bucket whose callers do not wait: they get the last listing, and it is listed again in the background. Only a folder that was never
/// listed is waited for, for a moment, unless such a wait has failed before.
struct ImpatientStore: SegmentStore {
    /// For a store that answers, a listing of some pages.
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

/// Questions to a store that run in the background, each of them once at a time.
final class StoreQuestions: Sendable {
    /// Threads that may wait for a store that is silent.
    private static let maximumQuestions = 4

    final class Question: Sendable {
        fileprivate let ended = DispatchSemaphore(value: 0)
        private let outcome = Mutex<ArchiveError?>(nil)

        fileprivate func settle(_ error: ArchiveError?) {
            outcome.withLock { $0 = error }
            ended.signal()
        }

        var failure: ArchiveError? { outcome.withLock { $0 } }
    }

    private struct State {
        var asked: [StoredPath: Question] = [:]
        /// The last request with a waiting caller was not answered in time, and no other has been answered since.
        var isSlow = false
    }

    private let state = Mutex(State())

    /// Has a thread ask, unless one is at it already.
    /// - Returns: the question; nil: too many wait.
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

    /// Whether a question has ended in time.
    func waits(for question: Question, _ nanoseconds: Int) -> Bool {
        let isSlow = state.withLock { $0.isSlow }
        let outcome = question.ended.wait(timeout: .now() + .nanoseconds(isSlow ? 0 : nanoseconds))
        guard outcome == .success else {
            state.withLock { $0.isSlow = true }
            return false
        }
        // For others who wait.
        question.ended.signal()
        return true
    }
}
