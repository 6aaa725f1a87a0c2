// rows.hpp: a tensor as rows: an odometer over the outer dimensions, a start and a step for the inner one.
#pragma once

#include <cstddef>

#include "dmlref/config.hpp"
#include "dmlref/view/coalesce.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

/// Walks N layouts of one shape row by row, in row-major order:
///   for (RowIterator<2> row(joint, {in.offset, out.offset}); row; ++row) copy(row.start(0), row.step(0), row.count());
template <std::size_t N>
class RowIterator {
 public:
  /// `offsets[k]` is where element (0, …, 0) of layout k lies.
  constexpr RowIterator(const JointLayout<N>& joint, const Index (&offsets)[N]) noexcept : joint_(joint) {
    for (std::size_t k = 0; k < N; ++k) start_[k] = offsets[k];
    at_ = Coordinates::filled(joint.rank() > 0 ? joint.rank() - 1 : 0, 0);
    more_ = element_count(joint.shape) > 0;
  }

  /// Whether there is a row: false after the last.
  constexpr explicit operator bool() const noexcept { return more_; }
  /// Index of the row's first element in layout k.
  constexpr Index start(std::size_t k) const noexcept { return start_[k]; }
  /// Distance between neighbours of the row in layout k.
  constexpr Index step(std::size_t k) const noexcept { return joint_.rank() > 0 ? joint_.strides[k].back() : 1; }
  /// Elements of the row, the same for all rows.
  constexpr Index count() const noexcept { return joint_.rank() > 0 ? joint_.shape.back() : 1; }

  /// To the next row.
  constexpr RowIterator& operator++() noexcept {
    for (std::size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < joint_.shape[d]) {
        for (std::size_t k = 0; k < N; ++k) start_[k] += joint_.strides[k][d];
        return *this;
      }
      for (std::size_t k = 0; k < N; ++k) start_[k] -= joint_.strides[k][d] * (joint_.shape[d] - 1);
      at_[d] = 0;
    }
    more_ = false;
    return *this;
  }

 private:
  JointLayout<N> joint_;
  Index start_[N]{};
  Coordinates at_;
  bool more_ = true;
};

/// One row of a view: `size` elements, `step` apart.
template <class View>
class Row {
 public:
  using value_type = typename View::value_type;  ///< of an element

  /// `count` elements from index `start` on, `step` apart.
  constexpr Row(const View& view, Index start, Index step, Index count) noexcept
      : access_(view.access()), start_(start), step_(step), count_(count) {}

  /// The number of elements.
  constexpr Index size() const noexcept { return count_; }
  /// Index of the row's first element, in elements from the view's data pointer.
  constexpr Index start() const noexcept { return start_; }
  /// Distance from one element to the next, in elements.
  constexpr Index step() const noexcept { return step_; }
  /// Element i. 0 <= i < size().
  constexpr value_type operator[](Index i) const noexcept { return access_.load(start_ + i * step_); }
  /// Writes element i. 0 <= i < size().
  constexpr void store(Index i, value_type value) const noexcept { access_.store(start_ + i * step_, value); }

 private:
  typename View::access_type access_;
  Index start_;
  Index step_;
  Index count_;
};

/// A view as a range of its rows, in row-major order. Dimensions that lie in memory as one are walked as one, so a
/// packed view is a single row:
///   for (const auto row : rows(view)) for (Index i = 0; i < row.size(); ++i) sum += row[i];
template <class View>
class Rows {
 public:
  /// Beyond the last row.
  struct End {};
  /// One row after the other.
  class Iterator {
   public:
    /// The first row of `view`, which `joint` walks.
    constexpr Iterator(const View& view, const JointLayout<1>& joint) noexcept
        : view_(view), walk_(joint, {view.layout().offset}) {}
    /// The row.
    constexpr Row<View> operator*() const noexcept {
      return Row<View>(view_, walk_.start(0), walk_.step(0), walk_.count());
    }
    /// To the next row.
    constexpr Iterator& operator++() noexcept {
      ++walk_;
      return *this;
    }
    /// Whether there is no further row.
    friend constexpr bool operator==(const Iterator& it, End) noexcept { return !it.walk_; }

   private:
    View view_;
    RowIterator<1> walk_;
  };

  /// `joint`: the view's layout, or a coalesced one.
  constexpr Rows(const View& view, const JointLayout<1>& joint) noexcept : view_(view), joint_(joint) {}
  /// The first row.
  constexpr Iterator begin() const noexcept { return Iterator(view_, joint_); }
  /// Beyond the last row.
  constexpr End end() const noexcept { return {}; }

 private:
  View view_;
  JointLayout<1> joint_;
};

/// The rows of a view, in row-major order: see Rows.
template <class T, class Access>
constexpr Rows<TensorView<T, Access>> rows(const TensorView<T, Access>& view) noexcept {
  JointLayout<1> joint;
  joint.shape = view.shape();
  joint.strides[0] = view.strides();
  return Rows<TensorView<T, Access>>(view, coalesce(joint));
}

DMLREF_END
