/// Schedules blocking work on a bounded number of threads. A value without a clock.
///
/// Reads on a hung file system never return. So a thread that is blocked for long is replaced by another one, and each location, such as
/// a session, is limited to some of the threads: if one location hangs, there are threads for the others.
struct ReadingSchedule: Sendable {
    /// Duration from which on work counts as long.
    private static let longNanoseconds: Int64 = 1_000_000_000
    /// Maximum number of threads.
    static let maximumRunning = 64
    /// Thread limit per location, including long work. Heavy work of viewers uses two of them for some seconds.
    private static let maximumOfPlace = 4
    /// Maximum wait for blocked threads of a location. After it, waiting and later work is refused.
    private static let patienceNanoseconds: Int64 = 5_000_000_000

    private struct Work: Sendable {
        var number: Int
        /// Nil: the archive as a whole.
        var place: String?
        /// Time at which it was queued, or started.
        var since: Int64
    }

    /// Threads that work at the same time, apart from long work.
    private let count: Int
    private let most: Int
    /// The oldest first.
    private var waiting: [Work] = []
    private var running: [Int: Work] = [:]

    init(count: Int, most: Int = Self.maximumRunning) {
        self.count = count
        self.most = most
    }

    var isIdle: Bool { waiting.isEmpty && running.isEmpty }
    var hasWaiting: Bool { !waiting.isEmpty }

    /// - Returns: false while work for its location is refused.
    mutating func add(_ number: Int, place: String?, now: Int64) -> Bool {
        if let place, isStuck(place, now: now) { return false }
        waiting.append(Work(number: number, place: place, since: now))
        return true
    }

    /// The work to start now; nil if there is none.
    mutating func begin(now: Int64) -> Int? {
        let isYoung = { (work: Work) in now - work.since < Self.longNanoseconds }
        let young = running.values.filter(isYoung)
        guard young.count < count, running.count < most else { return nil }
        let next = waiting.firstIndex { work in
            guard let place = work.place else { return true }
            return young.count { $0.place == place } < max(1, count - 1)
                && running.values.count { $0.place == place } < Self.maximumOfPlace
        }
        guard let next else { return nil }
        var work = waiting.remove(at: next)
        work.since = now
        running[work.number] = work
        return work.number
    }

    mutating func end(_ number: Int) { running[number] = nil }

    /// Removes queued work.
    /// - Returns: whether it was still queued.
    mutating func withdraw(_ number: Int) -> Bool {
        guard let place = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: place)
        return true
    }

    /// Removes and returns work that has waited too long for its location.
    mutating func refuse(now: Int64) -> [Int] {
        let late = waiting.filter { work in
            guard let place = work.place else { return false }
            return now - work.since >= Self.patienceNanoseconds
                && isFull(place, of: Self.longNanoseconds, now: now)
        }.map(\.number)
        waiting.removeAll { late.contains($0.number) }
        return late
    }

    private func isStuck(_ place: String, now: Int64) -> Bool {
        isFull(place, of: Self.patienceNanoseconds, now: now)
    }

    /// Whether all threads of a location have been blocked for this long.
    private func isFull(_ place: String, of nanoseconds: Int64, now: Int64) -> Bool {
        let own = running.values.filter { $0.place == place }
        return own.count >= Self.maximumOfPlace
            && own.allSatisfy { now - $0.since >= nanoseconds }
    }
}
