import Media

/// Planar floats that wait until there are enough of them for a packet. Belongs to one thread.
final class AudioQueue {
    private(set) var count = 0
    /// Where the first frame is.
    private var head = 0
    private let channels: Int
    private var capacity = 4096
    private var planes: [UnsafeMutablePointer<Float>]

    init(channels: Int) {
        self.channels = channels
        let size = capacity
        planes = (0..<channels).map { _ in .allocate(capacity: size) }
    }

    deinit { for plane in planes { plane.deallocate() } }

    /// Where up to `frames` more may be written, one pointer per channel; ``didAppend(frames:)`` follows.
    func room(for frames: Int) -> [UnsafeMutablePointer<Float>] {
        if head + count + frames > capacity {
            if 2 * (count + frames) > capacity {
                grow(to: max(2 * capacity, count + frames))
            } else {
                for plane in planes { plane.update(from: plane + head, count: count) }
            }
            head = 0
        }
        return planes.map { $0 + head + count }
    }

    private func grow(to size: Int) {
        planes = planes.map { old in
            let new = UnsafeMutablePointer<Float>.allocate(capacity: size)
            new.update(from: old + head, count: count)
            old.deallocate()
            return new
        }
        capacity = size
    }

    /// So many frames were written.
    func didAppend(frames: Int) {
        precondition(head + count + frames <= capacity)
        count += frames
    }

    /// Appends planar floats with as many channels.
    func append(_ sound: RawAudio) {
        withExtendedLifetime(sound.owner) {
            for (target, source) in zip(room(for: sound.frameCount), sound.planes) {
                target.update(
                    from: source.assumingMemoryBound(to: Float.self), count: sound.frameCount)
            }
        }
        didAppend(frames: sound.frameCount)
    }

    func appendSilence(frames: Int) {
        for target in room(for: frames) { target.update(repeating: 0, count: frames) }
        didAppend(frames: frames)
    }

    /// Moves the first `frames` frames out.
    func take(frames: Int, into targets: [UnsafeMutablePointer<Float>]) {
        precondition(frames <= count && targets.count == channels)
        for (target, plane) in zip(targets, planes) {
            target.update(from: plane + head, count: frames)
        }
        drop(frames: frames)
    }

    /// Lets go of the first `frames` frames.
    func drop(frames: Int) {
        precondition(frames <= count)
        count -= frames
        // Nothing is ever moved for what was taken: a minute of silence may stand here.
        head = count == 0 ? 0 : head + frames
    }

    /// Whether the first `frames` frames are digital silence.
    func isSilent(frames: Int) -> Bool {
        planes.allSatisfy { plane in
            UnsafeBufferPointer(start: plane + head, count: frames).allSatisfy { $0 == 0 }
        }
    }
}
