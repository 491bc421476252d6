import Archive
import Media

/// The distance between the timelines of two archives that have recorded one session.
package struct SessionShift: Hashable, Sendable {
    /// What is added to the archive's session times to get those of the first archive.
    package var nanoseconds: Int64
    /// Maximum error: the sum of both clocks' bounds.
    package var boundNanoseconds: UInt64
    /// Whether both collectors measured one agent's clock; false: the stored zeros were compared.
    package var isMeasured: Bool

    /// Of the first archive, whose timeline it is.
    package static let none = SessionShift(nanoseconds: 0, boundNanoseconds: 0, isMeasured: true)

    /// An archive's shift to the first one by way of another archive.
    func advanced(by other: SessionShift) -> SessionShift {
        SessionShift(
            nanoseconds: nanoseconds.clampedAdding(other.nanoseconds),
            boundNanoseconds: boundNanoseconds.clampedAdding(other.boundNanoseconds),
            isMeasured: isMeasured && other.isMeasured)
    }
}

extension SessionShift {
    /// What is added to the times of each archive's session to get those of the first one; nil: it is another session.
    ///
    /// Clocks are compared directly, or by way of other archives, by the smallest sum of errors; without a common clock the zeros are.
    /// - Parameters:
    ///   - manifests: the archives' descriptions of the session, in the order of the archives' names.
    ///   - clocks: what their ledgers say of agents' clocks.
    static func all(
        _ manifests: [SessionManifest], _ clocks: [SessionClocks]
    ) -> [SessionShift?] {
        var found: [SessionShift?] = manifests.indices.map { $0 == 0 ? SessionShift.none : nil }
        for _ in manifests {
            for from in manifests.indices {
                guard let base = found[from] else { continue }
                for to in manifests.indices where to != from && to > 0 {
                    guard let step = clocks[from].shift(of: clocks[to]) else { continue }
                    let way = step.advanced(by: base)
                    if found[to].map({ way.boundNanoseconds < $0.boundNanoseconds }) ?? true {
                        found[to] = way
                    }
                }
            }
        }
        return manifests.indices.map { found[$0] ?? byZero(manifests[0], manifests[$0]) }
    }

    /// Zeros that are farther apart are of two sessions, if no clock says otherwise.
    private static let longestZeroNanoseconds: Int64 = 1_000_000_000

    private static func byZero(
        _ first: SessionManifest, _ other: SessionManifest
    ) -> SessionShift? {
        let distance = other.zeroUTCNanoseconds.clampedSubtracting(first.zeroUTCNanoseconds)
        guard distance.magnitude <= UInt64(longestZeroNanoseconds) else { return nil }
        let bounds = [first, other].compactMap(\.clock).flatMap {
            [$0.wallErrorNanoseconds, $0.zeroErrorNanoseconds]
        }
        return SessionShift(
            nanoseconds: distance,
            boundNanoseconds: bounds.lazy.map { UInt64(clamping: $0) }.clampedSum,
            isMeasured: false)
    }
}

/// What an archive's ledgers of one session say of agents' clocks.
struct SessionClocks: Sendable {
    /// A clock model: session time of an agent's clock around one of its moments.
    struct Model: Sendable {
        var agentNanoseconds: Int64
        /// Session time of that moment.
        var sessionNanoseconds: Int64
        var skewPartsPerBillion: Int64
        var boundNanoseconds: UInt64

        /// Session time of another moment of the agent's clock.
        func session(at agent: Int64) -> Int64 {
            let distance = agent.clampedSubtracting(agentNanoseconds)
            let drift = Int128(distance) * Int128(skewPartsPerBillion) / 1_000_000_000
            return sessionNanoseconds.clampedAdding(distance)
                .clampedAdding(Int64(clamping: drift))
        }
    }

    /// Uncertainty of a model at some distance from its moment: a clock's rate changes by less than one part in a million.
    private static let driftDivisor: UInt64 = 1_000_000

    /// Models of one epoch: those of a year.
    private static let maximumModels = 1 << 16

    /// By epoch, in the order of the agent's clock.
    private(set) var models: [String: [Model]] = [:]

    /// Reads lines of a source.
    mutating func add(_ ledger: [LedgerEntry]) {
        var zeros: [String: Int64] = [:]
        for line in ledger {
            guard let epoch = line.epoch else { continue }
            switch line.kind {
            case .epoch:
                if let zero = line.collectorZeroNanoseconds { zeros[epoch] = zero }
            case .clock:
                guard let zero = zeros[epoch], let agent = line.agentNanoseconds,
                    let offset = line.offsetNanoseconds, let bound = line.boundNanoseconds,
                    bound > 0, models[epoch]?.count ?? 0 < Self.maximumModels
                else { continue }
                models[epoch, default: []].append(
                    Model(
                        agentNanoseconds: agent,
                        sessionNanoseconds: agent.clampedAdding(offset).clampedSubtracting(zero),
                        skewPartsPerBillion: line.skewPartsPerBillion ?? 0,
                        boundNanoseconds: bound))
            case .opened, .gap, .goodbye, .format, .later, .earlier, .time, .held, .related,
                .discontinuity, .exchanges, .removed, .resumed, .failed, .damaged:
                continue
            }
        }
        for epoch in models.keys {
            models[epoch]?.sort { $0.agentNanoseconds < $1.agentNanoseconds }
        }
    }

    /// The first model behind a moment.
    private static func place(behind agent: Int64, in models: [Model]) -> Int {
        var (low, high) = (0, models.count)
        while low < high {
            let middle = (low + high) / 2
            if models[middle].agentNanoseconds <= agent { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// What is added to session times of another archive to get those of this one; nil: they have measured no common clock.
    ///
    /// Of all pairs of models, the one with the smallest error decides.
    func shift(of other: SessionClocks) -> SessionShift? {
        var best: SessionShift?
        for (epoch, theirs) in other.models.sorted(by: { $0.key < $1.key }) {
            guard let own = models[epoch], !own.isEmpty else { continue }
            for model in theirs {
                let later = Self.place(behind: model.agentNanoseconds, in: own)
                for candidate in [own[max(0, later - 1)], own[min(later, own.count - 1)]] {
                    let agent = model.agentNanoseconds
                    let distance = agent.clampedSubtracting(candidate.agentNanoseconds).magnitude
                    let found = SessionShift(
                        nanoseconds: candidate.session(at: agent)
                            .clampedSubtracting(model.sessionNanoseconds),
                        boundNanoseconds: candidate.boundNanoseconds
                            .clampedAdding(model.boundNanoseconds)
                            .clampedAdding(distance / Self.driftDivisor),
                        isMeasured: true)
                    if best.map({ found.boundNanoseconds < $0.boundNanoseconds }) ?? true {
                        best = found
                    }
                }
            }
        }
        return best
    }
}
