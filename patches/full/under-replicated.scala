(UPSTREAM - observersOutsideIsr)
