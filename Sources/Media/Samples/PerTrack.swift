/// An optional value for each of a source's two tracks: a dictionary by ``TrackKind`` without hashing. The collector
/// does some twenty lookups per message.
// Inlinable: generic code is not specialised across modules otherwise.
package struct PerTrack<Value> {
    @usableFromInline package var video: Value?
    @usableFromInline package var audio: Value?

    @inlinable package init() {}

    /// - Precondition: no track occurs twice.
    @inlinable package init(uniqueKeysWithValues pairs: some Sequence<(TrackKind, Value)>) {
        for (track, value) in pairs {
            precondition(self[track] == nil, "a track occurs once")
            self[track] = value
        }
    }

    @inlinable package subscript(track: TrackKind) -> Value? {
        _read {
            switch track {
            case .video: yield video
            case .audio: yield audio
            }
        }
        _modify {
            switch track {
            case .video: yield &video
            case .audio: yield &audio
            }
        }
    }

    @inlinable package var isEmpty: Bool { video == nil && audio == nil }

    /// The values, video first.
    @inlinable package var values: [Value] {
        switch (video, audio) {
        case (let video?, let audio?): [video, audio]
        case (let value?, nil), (nil, let value?): [value]
        case (nil, nil): []
        }
    }
}

extension PerTrack: Sendable where Value: Sendable {}
extension PerTrack: Equatable where Value: Equatable {}
extension PerTrack: Hashable where Value: Hashable {}

extension PerTrack: ExpressibleByDictionaryLiteral {
    @inlinable package init(dictionaryLiteral elements: (TrackKind, Value)...) {
        self.init(uniqueKeysWithValues: elements)
    }
}
