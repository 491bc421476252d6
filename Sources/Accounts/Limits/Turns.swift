/// Fair scheduling: serves the owner served least recently. An owner with much work delays only its own work, not that of
/// others.
package struct Turns<Owner: Hashable & Sendable>: Sendable {
    /// Maximum number of remembered owners. Past it, the one served least recently is forgotten, and counts as never served.
    private let capacity: Int
    private var last: [Owner: Int] = [:]
    private var count = 0

    package init(capacity: Int = 1_000) { self.capacity = capacity }

    /// The next work: the oldest of the owner served least recently, or never.
    /// - Parameter owners: owners of all queued work, oldest first.
    /// - Returns: an index in `owners`; nil if the queue is empty.
    package func next(of owners: [Owner]) -> Int? {
        owners.indices.min { (turn(owners[$0]), $0) < (turn(owners[$1]), $1) }
    }

    /// The newest work of the owner served most recently, if that was after another owner.
    /// - Parameter owners: owners of all queued work, oldest first.
    /// - Returns: an index in `owners`; nil if no owner had a later turn.
    package func last(of owners: [Owner], after other: Owner) -> Int? {
        let place = owners.indices.max { (turn(owners[$0]), $0) < (turn(owners[$1]), $1) }
        guard let place, turn(owners[place]) > turn(other) else { return nil }
        return place
    }

    /// Notes that work of an owner begins.
    package mutating func begin(_ owner: Owner) {
        count += 1
        last[owner] = count
        guard last.count > capacity, let oldest = last.min(by: { $0.value < $1.value }) else {
            return
        }
        last.removeValue(forKey: oldest.key)
    }

    /// 0: never served.
    private func turn(_ owner: Owner) -> Int { last[owner] ?? 0 }
}
