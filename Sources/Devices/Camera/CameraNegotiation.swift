import Media

/// Why a camera cannot satisfy a request, and the available alternatives.
package struct CameraMismatch: Error, Hashable {
    package var reason: String
}

/// Chooses a capture mode from a camera's capabilities and a request.
///
/// The size has priority, then the rate up to the requested one, then the least processing, then the camera's own
/// order.
package struct CameraNegotiation: Sendable {
    private let abilities: CameraAbilities
    private let request: CameraRequest

    /// A level is skipped if the camera's rate is less than this fraction of the requested one: a level implies moving
    /// pictures.
    private static let leastShare = 2

    /// A format, a size in it, and how well it matches the request.
    private struct Candidate {
        var format: CameraFormat
        var place: Int
        var size: PictureSize
        var rate: FrameRate?
        var recordedRate: FrameRate
        var work: Int

        /// Whether it is preferable.
        func isBetter(than other: Candidate) -> Bool {
            if recordedRate != other.recordedRate { return recordedRate > other.recordedRate }
            if work != other.work { return work < other.work }
            let area = size.width * size.height
            let otherArea = other.size.width * other.size.height
            if area != otherArea { return area < otherArea }
            if let rate, let otherRate = other.rate, rate != otherRate { return rate < otherRate }
            return place < other.place
        }
    }

    package init(_ abilities: CameraAbilities, _ request: CameraRequest) {
        var supported = abilities
        supported.formats.removeAll { !$0.code.isSupported }
        self.abilities = supported
        self.request = request
    }

    /// The chosen mode.
    /// - Throws: ``CameraMismatch`` with the alternatives.
    package func choice() throws(CameraMismatch) -> CameraChoice {
        if let code = request.code, !abilities.formats.contains(where: { $0.code == code }) {
            let all = abilities.formats.map(\.code.description)
            throw CameraMismatch(
                reason: "it does not support \(code): use one of \(Self.list(all))")
        }
        if case .always = request.ownH264,
            !abilities.formats.contains(where: { $0.code == .h264 })
        {
            throw CameraMismatch(
                reason: "it delivers no H.264 to copy: leave --encoder copy out")
        }
        switch request.size {
        case .exactly(let size):
            return try exact(size)
        case .levels(let levels):
            return try first(of: levels)
        }
    }

    // MARK: Sizes

    private func exact(_ size: PictureSize) throws(CameraMismatch) -> CameraChoice {
        if let best = best(candidates { $0 == size }) { return choice(best, recorded: size) }
        let larger = candidates {
            $0.width > size.width && $0.width * size.height == $0.height * size.width
        }.filter { $0.format.code != .h264 }
        if let best = best(larger) {
            var result = choice(best, recorded: size)
            result.notes.append(
                "the camera does not support \(size): \(best.size) is scaled down")
            return result
        }
        throw CameraMismatch(
            reason:
                "it supports neither \(size) nor a larger size of the same aspect ratio: use one of \(sizes)"
        )
    }

    private func first(
        of levels: [CameraRequest.Level]
    ) throws(CameraMismatch) -> CameraChoice {
        var notes: [String] = []
        /// The best level that is too slow.
        var slow: (Candidate, Int)?
        for (place, level) in levels.enumerated() {
            guard let best = best(candidates { $0 == level.size }) else {
                notes.append("\(level.name) is \(level.size), which the camera does not support")
                continue
            }
            if let rate = best.rate, isTooSlow(rate) {
                notes.append(
                    "the camera delivers \(level.name), \(level.size), at no more than \(rate) fps, "
                        + "less than half of \(request.rate)")
                if slow.map({ best.recordedRate > $0.0.recordedRate }) ?? true {
                    slow = (best, place)
                }
                continue
            }
            return choice(best, recorded: best.size, notes: notes, level: level.name)
        }
        if let (best, place) = slow {
            return choice(
                best, recorded: best.size, notes: notes, level: levels[place].name)
        }
        // None of the levels: the largest size up to that of the first level, or the smallest.
        let limit = levels.first?.size.width ?? 0
        let all = candidates { _ in true }
        let below = all.filter { $0.size.width <= limit }
        let target =
            below.max { $0.size.width < $1.size.width }
            ?? all.min {
                $0.size.width < $1.size.width
            }
        guard let target, let best = best(all.filter { $0.size == target.size }) else {
            throw CameraMismatch(
                reason: "none of its formats can be used; it supports \(sizes)")
        }
        return choice(best, recorded: best.size, notes: notes)
    }

    private func isTooSlow(_ rate: FrameRate) -> Bool {
        Int64(rate.numerator) * Int64(request.rate.denominator) * Int64(Self.leastShare)
            < Int64(request.rate.numerator) * Int64(rate.denominator)
    }

    // MARK: Formats

    private func candidates(_ isWanted: (PictureSize) -> Bool) -> [Candidate] {
        var result: [Candidate] = []
        for (place, format) in abilities.formats.enumerated() where isUsable(format) {
            for size in format.sizes where isWanted(size.size) {
                // H.264 with 4:2:0 colour has even sides.
                guard size.size.width % 2 == 0, size.size.height % 2 == 0 else { continue }
                let rate = size.rates.nearest(to: request.rate)
                let work = CameraCoding(format.code).work + (format.isEmulated ? 5 : 0)
                let candidate = Candidate(
                    format: format, place: place, size: size.size, rate: rate,
                    recordedRate: rate.map { min($0, request.rate) } ?? request.rate, work: work)
                if format.code == .h264, refusal(at: candidate.recordedRate, candidate.rate) != nil
                {
                    continue
                }
                result.append(candidate)
            }
        }
        return result
    }

    private func isUsable(_ format: CameraFormat) -> Bool {
        if case .always = request.ownH264 { return format.code == .h264 }
        return request.code == nil || request.code == format.code
    }

    private func best(_ candidates: [Candidate]) -> Candidate? {
        candidates.dropFirst().reduce(candidates.first) { best, next in
            guard let best else { return next }
            return next.isBetter(than: best) ? next : best
        }
    }

    /// Why the camera's own H.264 is not used; nil: it is.
    private func refusal(at recordedRate: FrameRate, _ rate: FrameRate?) -> String? {
        switch request.ownH264 {
        case .never(let reason):
            return reason
        case .always:
            return nil
        case .ifItMeets(let needs):
            guard let bitrates = abilities.encoder.bitrates else {
                return "its bitrate cannot be set"
            }
            guard bitrates.contains(needs.bitrate) else {
                return "its bitrates, \(bitrates.lowerBound) to \(bitrates.upperBound), do not "
                    + "include \(needs.bitrate)"
            }
            guard let pictures = abilities.encoder.keyframePictures else {
                return "its keyframe interval cannot be set"
            }
            let wanted = needs.keyframePictures(at: rate ?? recordedRate)
            guard pictures.contains(wanted) else {
                return "its keyframe interval cannot be \(wanted) pictures, only "
                    + "\(pictures.lowerBound) to \(pictures.upperBound)"
            }
            // Coded pictures refer to each other: none can be dropped.
            if let rate, recordedRate < rate { return "it is faster than \(recordedRate) fps" }
            return nil
        }
    }

    // MARK: Text

    private func choice(
        _ best: Candidate, recorded: PictureSize, notes: [String] = [], level: String? = nil
    ) -> CameraChoice {
        var needs: CameraRequest.H264Needs?
        if best.format.code == .h264 {
            switch request.ownH264 {
            case .always(let wanted), .ifItMeets(let wanted): needs = wanted
            case .never: break
            }
        }
        return CameraChoice(
            code: best.format.code, size: best.size, rate: best.rate, recordedSize: recorded,
            recordedRate: best.recordedRate, h264: needs,
            reason: reason(best, level: level),
            notes: level.map { level in notes.map { "\($0): using \(level)" } } ?? notes)
    }

    private func reason(_ best: Candidate, level: String?) -> String {
        var words: [String] = []
        if request.code != nil {
            words.append("as requested")
        } else {
            switch CameraCoding(best.format.code) {
            case .h264: words.append("encoded by the camera")
            case .raw(let layout):
                words.append(
                    layout.isEncodable && best.size == recordedSize(best)
                        ? "encoded without conversion" : "needs only a pixel format conversion")
            case .jpeg: words.append("raw video of this size is slower or not available")
            case .foreign: words.append("converted by libv4l")
            }
        }
        if let rate = best.rate, rate > best.recordedRate {
            words.append("\(best.recordedRate) of its \(rate) fps are kept")
        } else if best.recordedRate < request.rate {
            words.append("the camera does not support \(request.rate) fps at this size")
        }
        if best.format.code != .h264,
            abilities.formats.contains(where: { $0.code == .h264 }), request.code == nil
        {
            let why = refusal(at: best.recordedRate, best.rate) ?? "not available at this size"
            words.append("its own H.264 is not used: \(why)")
        }
        return words.joined(separator: "; ")
    }

    private func recordedSize(_ best: Candidate) -> PictureSize {
        if case .exactly(let size) = request.size { return size }
        return best.size
    }

    /// All sizes, each with its highest rate.
    private var sizes: String {
        var fastest: [PictureSize: FrameRate?] = [:]
        for format in abilities.formats where isUsable(format) {
            for size in format.sizes {
                let known = fastest[size.size] ?? nil
                let rate = size.rates.fastest
                fastest[size.size] = [known, rate].compactMap(\.self).max()
            }
        }
        let sorted = fastest.keys.sorted { $0.width * $0.height < $1.width * $1.height }
        return Self.list(
            sorted.map { size in
                let rate = fastest[size] ?? nil
                return rate.map { "\(size) (to \($0) fps)" } ?? "\(size)"
            })
    }

    /// Maximum number in one line.
    private static let longestList = 12

    private static func list(_ words: [String]) -> String {
        if words.isEmpty { return "nothing" }
        let shown = words.prefix(longestList).joined(separator: ", ")
        return words.count > longestList ? "\(shown) and \(words.count - longestList) more" : shown
    }
}
