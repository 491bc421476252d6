import Media

/// A queue of planar floats, from which packets are filled. Belongs to one thread.
final class AudioQueue {
    private(set) var count = 0
    /// Offset of the first frame.
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

    /// Space for up to `frames` more, one pointer per channel; follow with ``didAppend(frames:)``.
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

    /// Adds the frames that were written.
    func didAppend(frames: Int) {
        precondition(head + count + frames <= capacity)
        count += frames
    }

    /// Appends planar floats with the same number of channels.
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

    /// Copies the first `frames` frames and removes them.
    func take(frames: Int, into targets: [UnsafeMutablePointer<Float>]) {
        precondition(frames <= count && targets.count == channels)
        for (target, plane) in zip(targets, planes) {
            target.update(from: plane + head, count: frames)
        }
        drop(frames: frames)
    }

    /// Removes the first `frames` frames.
    func drop(frames: Int) {
        precondition(frames <= count)
        count -= frames
        // Removing moves no memory: the queue may hold a minute of silence.
        head = count == 0 ? 0 : head + frames
    }

    /// Whether the first `frames` frames are digital silence.
    func isSilent(frames: Int) -> Bool {
        planes.allSatisfy { plane in
            UnsafeBufferPointer(start: plane + head, count: frames).allSatisfy { $0 == 0 }
        }
    }
}
