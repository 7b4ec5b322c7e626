// A gRPC service's generated layers, one a method, on top of each other: Layers<Service, First,
// Second>::Type is First<Second<Service>>.
#ifndef WARPFOLD_SERVER_FRONTEND_LAYERS_H_
#define WARPFOLD_SERVER_FRONTEND_LAYERS_H_

namespace warpfold {

template <typename Service, template <typename> class... Methods>
struct Layers {
  using Type = Service;
};
template <typename Service, template <typename> class First, template <typename> class... Rest>
struct Layers<Service, First, Rest...> {
  using Type = First<typename Layers<Service, Rest...>::Type>;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_LAYERS_H_
