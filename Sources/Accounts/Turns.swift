/// Fair scheduling: serves the owner served least recently. An owner with much work waits for its own work, and not the
/// others.
package struct Turns<Owner: Hashable & Sendable>: Sendable {
    /// Owners that are remembered. Past them, the one whose turn was longest ago is forgotten, and is like one that had none.
    private let capacity: Int
    private var last: [Owner: Int] = [:]
    private var count = 0

    package init(capacity: Int = 1_000) { self.capacity = capacity }

    /// Which work is next: the oldest of the owner whose last turn began longest ago, or who has had none.
    /// - Parameter owners: of all that waits, the oldest first.
    /// - Returns: a place in `owners`; nil: nothing waits.
    package func next(of owners: [Owner]) -> Int? {
        owners.indices.min { (turn(owners[$0]), $0) < (turn(owners[$1]), $1) }
    }

    /// Which work is of the owner whose last turn began latest, if that was after the last turn of another one: the newest such work.
    /// - Parameter owners: of all that waits, the oldest first.
    /// - Returns: a place in `owners`; nil: none of them has had a later turn.
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

    /// 0: it has had none.
    private func turn(_ owner: Owner) -> Int { last[owner] ?? 0 }
}
