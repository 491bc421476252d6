import Archive
import Media

/// The offset between the timelines of two archives' copies of a session.
///
/// Where the collectors have measured each other's clocks, it changes with time, as the clocks' rates differ.
package struct SessionShift: Equatable, Sendable {
    /// Added to the archive's session times to get those of the first archive. If it varies, the value at a time at which its
    /// error is small.
    package var nanoseconds: Int64
    /// Maximum error of ``nanoseconds``: the sum of both clocks' bounds.
    package var boundNanoseconds: UInt64
    /// Both collectors measured a common agent clock, or each other's; if not, the stored zeros were compared.
    package var isMeasured: Bool
    /// The shifts whose sum it is, in order; empty: it is constant.
    private var steps: [Step] = []

    private enum Step: Sendable {
        case constant(SessionShift)
        case course(ShiftCourse)
    }

    package init(nanoseconds: Int64, boundNanoseconds: UInt64, isMeasured: Bool) {
        self.nanoseconds = nanoseconds
        self.boundNanoseconds = boundNanoseconds
        self.isMeasured = isMeasured
    }

    /// By the collectors' clocks.
    init(_ course: ShiftCourse) {
        let here = course.shift(at: course.middleNanoseconds)
        self.init(
            nanoseconds: here.nanoseconds, boundNanoseconds: here.boundNanoseconds,
            isMeasured: true)
        steps = [.course(course)]
    }

    package static func == (one: SessionShift, other: SessionShift) -> Bool {
        one.nanoseconds == other.nanoseconds && one.boundNanoseconds == other.boundNanoseconds
            && one.isMeasured == other.isMeasured
            && one.courses.elementsEqual(other.courses, by: ===)
    }

    private var courses: [ShiftCourse] {
        steps.compactMap { step in
            if case .course(let course) = step { course } else { nil }
        }
    }

    /// For the first archive.
    package static let none = SessionShift(nanoseconds: 0, boundNanoseconds: 0, isMeasured: true)

    /// The position that the description of a part states.
    init(_ place: SessionAttachments.Position) {
        self.init(
            nanoseconds: place.offsetNanoseconds, boundNanoseconds: place.boundNanoseconds,
            isMeasured: false)
    }

    /// Whether it changes with time.
    package var isByCollectors: Bool { !steps.isEmpty }

    /// The shift of one of the archive's session times, and its maximum error.
    package func at(_ session: Int64) -> (nanoseconds: Int64, boundNanoseconds: UInt64) {
        guard !steps.isEmpty else { return (nanoseconds, boundNanoseconds) }
        var time = session
        var bound: UInt64 = 0
        for step in steps {
            let move =
                switch step {
                case .constant(let shift): (shift.nanoseconds, shift.boundNanoseconds)
                case .course(let course): course.shift(at: time)
                }
            time.addClamped(move.0)
            bound.addClamped(move.1)
        }
        return (time.clampedSubtracting(session), bound)
    }

    /// The shift via another archive.
    func advanced(by other: SessionShift) -> SessionShift {
        var sum = SessionShift(
            nanoseconds: nanoseconds.clampedAdding(other.nanoseconds),
            boundNanoseconds: boundNanoseconds.clampedAdding(other.boundNanoseconds),
            isMeasured: isMeasured && other.isMeasured)
        guard isByCollectors || other.isByCollectors else { return sum }
        for part in [self, other] {
            sum.steps += part.isByCollectors ? part.steps : [.constant(part)]
        }
        return sum
    }
}

extension SessionShift {
    /// Maximum error with which a shift by the collectors' clocks is preferred to one by an agent's clock.
    private static let usefulNanoseconds: UInt64 = 1_000_000_000

    /// The shift of each archive's session to the first one's timeline; nil for another session.
    ///
    /// Clocks are compared directly or via other archives, along the path with the smallest error; without a common clock,
    /// the zeros are compared.
    /// - Parameters:
    ///   - manifests: the archives' descriptions of the session, in the order of the archives' names.
    ///   - clocks: agents' clock models from their ledgers.
    ///   - sites: the collectors' clocks.
    ///   - stated: of parts, from their descriptions; empty: there are none.
    static func all(
        _ manifests: [SessionManifest], _ clocks: [SessionClocks], _ sites: [SiteClocks],
        stated: [SessionShift?] = []
    ) -> [SessionShift?] {
        var found: [SessionShift?] = manifests.indices.map { $0 == 0 ? SessionShift.none : nil }
        var steps: [[Int]: SessionShift?] = [:]
        for _ in manifests {
            for from in manifests.indices {
                guard let base = found[from] else { continue }
                for to in manifests.indices where to != from && to > 0 {
                    let known = steps[[from, to]]
                    let step = known ?? self.step(from, to, clocks, sites)
                    if known == nil { steps[[from, to]] = step }
                    guard let step else { continue }
                    let way = step.advanced(by: base)
                    if found[to].map({ way.boundNanoseconds < $0.boundNanoseconds }) ?? true {
                        found[to] = way
                    }
                }
            }
        }
        return manifests.indices.map { index in
            if let way = found[index], way.isByCollectors,
                way.boundNanoseconds < usefulNanoseconds
            {
                return way
            }
            let known = [found[index], stated.isEmpty ? nil : stated[index]].compactMap(\.self)
            return known.min { $0.boundNanoseconds < $1.boundNanoseconds }
                ?? byZero(manifests[0], manifests[index])
        }
    }

    /// The shift from one archive's times to another's. A shift by agents' clocks is constant: it is exact at the measurement,
    /// and later only if the collectors' clocks have the same rate. So the collectors' own exchanges are preferred.
    private static func step(
        _ from: Int, _ to: Int, _ clocks: [SessionClocks], _ sites: [SiteClocks]
    ) -> SessionShift? {
        let byAgents = clocks[from].shift(of: clocks[to])
        guard let byCollectors = sites[from].course(of: sites[to]).map(SessionShift.init) else {
            return byAgents
        }
        let isUseful = byCollectors.boundNanoseconds < usefulNanoseconds
        return isUseful ? byCollectors : byAgents ?? byCollectors
    }

    /// Zeros at a larger distance belong to different sessions, without a common clock.
    private static let longestZeroNanoseconds: Int64 = 1_000_000_000

    private static func byZero(
        _ first: SessionManifest, _ other: SessionManifest
    ) -> SessionShift? {
        let distance = other.zeroUTCNanoseconds.clampedSubtracting(first.zeroUTCNanoseconds)
        guard distance.magnitude <= UInt64(longestZeroNanoseconds) else { return nil }
        // Zeros that are equal to the nanosecond: one collector has placed the other's zero on its own clock.
        let bounds = [first, other].compactMap(\.clock).flatMap {
            distance == 0
                ? [$0.zeroErrorNanoseconds] : [$0.wallErrorNanoseconds, $0.zeroErrorNanoseconds]
        }
        return SessionShift(
            nanoseconds: distance,
            boundNanoseconds: bounds.lazy.map { UInt64(clamping: $0) }.clampedSum,
            isMeasured: false)
    }
}

/// Clock models of agents from an archive's ledgers of one session.
struct SessionClocks: Sendable {
    /// A clock model: maps an agent's clock to session time around a reference time.
    struct Model: Sendable {
        var agentNanoseconds: Int64
        /// Session time of the reference time.
        var sessionNanoseconds: Int64
        var skewPartsPerBillion: Int64
        var boundNanoseconds: UInt64

        /// Session time of an agent time.
        func session(at agent: Int64) -> Int64 {
            let distance = agent.clampedSubtracting(agentNanoseconds)
            let drift = Int128(distance) * Int128(skewPartsPerBillion) / 1_000_000_000
            return sessionNanoseconds.clampedAdding(distance)
                .clampedAdding(Int64(clamping: drift))
        }
    }

    /// A model's error grows with the distance from its reference time: clock rates change by less than 1 ppm.
    private static let driftDivisor: UInt64 = 1_000_000

    /// Limit of models per epoch: those of a year.
    private static let maximumModels = 1 << 16

    /// By epoch, in the order of the agent's clock.
    private(set) var models: [String: [Model]] = [:]

    /// Adds a source's ledger lines.
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
                .stated, .discontinuity, .exchanges, .removed, .resumed, .failed, .damaged:
                continue
            }
        }
        for epoch in models.keys {
            models[epoch]?.sort { $0.agentNanoseconds < $1.agentNanoseconds }
        }
    }

    /// Index of the first model after an agent time.
    private static func place(behind agent: Int64, in models: [Model]) -> Int {
        var (low, high) = (0, models.count)
        while low < high {
            let middle = (low + high) / 2
            if models[middle].agentNanoseconds <= agent { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The shift from another archive's session times to this one's; nil without a common clock.
    ///
    /// The pair of models with the smallest error is used.
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
